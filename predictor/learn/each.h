/*
 * each.h - a general profile's devices as profiles of their own: learned once, saved twice.
 */
#ifndef DLT_LEARN_EACH_H
#define DLT_LEARN_EACH_H

#include "learn/corpus.h"
#include "learn/profile_write.h"

/*
 * Saves one profile for each device and software of the corpus into a folder: its entry of the
 * writer (numbered as the corpus's groups, as dlt_train leaves them), sections, step parameters and
 * the sources that tell of it. Names: "tesla-v100-sxm2-16gb.tensorflow.dlp", the device and the
 * framework in small letters; with a number of threads "...x8.dlp"; of several releases of one
 * framework the second is "...-2.dlp". Fails where a file cannot be written; those before it are
 * there then.
 */
int dlt_save_each(const struct dlt_profile_writer *writer, const struct dlt_corpus *corpus,
                  const char *folder, struct dlt_error *error);

#endif

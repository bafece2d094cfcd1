/*
 * profile_write.h - puts a profile together and writes it.
 *
 * Entries, then their sections, step parameters and sources in any order; then bytes or a file.
 * What comes out depends on what went in alone (and on the date: SOURCE_DATE_EPOCH, else now).
 */
#ifndef DLT_LEARN_PROFILE_WRITE_H
#define DLT_LEARN_PROFILE_WRITE_H

#include "predict/profile_format.h"

struct dlt_written_section {
    struct dlt_file_section index; /* offset and checksum are filled in on writing */
    unsigned char *bytes;          /* malloc'ed, owned */
};

/* Zero-initialise. Counts and arrays may be read; add through the functions. */
struct dlt_profile_writer {
    struct dlt_file_entry *entry;
    struct dlt_written_section *section;
    struct dlt_file_step *step;
    struct dlt_file_source *source;
    size_t entry_count, section_count, step_count, source_count;
};

/* All return 0, or -1 out of memory. */
int dlt_profile_writer_entry(struct dlt_profile_writer *writer, const struct dlt_file_entry *entry);
/* Takes bytes, also where it fails. index->entry counts entries in the order they were added. */
int dlt_profile_writer_section(struct dlt_profile_writer *writer,
                               const struct dlt_file_section *index, unsigned char *bytes);
int dlt_profile_writer_source(struct dlt_profile_writer *writer,
                              const struct dlt_file_source *source);
/* Step parameters of an entry for one framework; they replace earlier ones of the same two. */
int dlt_profile_writer_step(struct dlt_profile_writer *writer, size_t entry,
                            enum dlt_framework framework,
                            const struct dlt_step_parameters *parameters);

/*
 * Adds the entries that `kept` wants (NULL: all) of a profile, with their sections and step
 * parameters, and its sources. Sections that turn out damaged are left out: dlt_profile_check says
 * so. moved: room for the profile's entry count, gets each one's number in the writer; or NULL.
 */
int dlt_profile_writer_copy(struct dlt_profile_writer *writer, const struct dlt_profile *profile,
                            bool (*kept)(const struct dlt_file_entry *entry), uint32_t *moved);

/* The whole file in memory, malloc'ed: for dlt_profile_from_memory, to price networks with what has
 * been learned before step parameters are known. Fails out of memory or without entries. */
int dlt_profile_writer_bytes(struct dlt_profile_writer *writer, void **bytes, size_t *size,
                             struct dlt_error *error);
/* Writes it, whole or not at all. */
int dlt_profile_writer_save(struct dlt_profile_writer *writer, const char *path,
                            struct dlt_error *error);
void dlt_profile_writer_clear(struct dlt_profile_writer *writer);

#endif

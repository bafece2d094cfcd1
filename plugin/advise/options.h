/*
 * options.h - a job request from the texts of sbatch's options, one by one: for releases of Slurm
 * that do not hand out a description of the job.
 */
#ifndef DLT_ADVISE_OPTIONS_H
#define DLT_ADVISE_OPTIONS_H

#include "request.h"

/* Copies the text of an option that was given, by its long name; false: not given. */
typedef bool dlt_option_get(void *context, const char *name, char *text, size_t size);

/* Adds what the options say to a request. Texts that are not understood say nothing. */
void dlt_request_options(struct dlt_request *request, dlt_option_get *get, void *context);

#endif

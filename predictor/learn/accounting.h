/*
 * accounting.h - what sacct says of finished jobs.
 *
 * Comments and command lines are the submitters' own text and may hold anything, newlines and
 * delimiters too. sacct is therefore asked to delimit by a random text that nobody could know when
 * he submitted; then what each job's fields are is certain.
 */
#ifndef DLT_LEARN_ACCOUNTING_H
#define DLT_LEARN_ACCOUNTING_H

#include <stdbool.h>
#include <stddef.h>

#include "dltime.h"

/* In the order that sacct is asked for them; free text last. */
enum dlt_account_field {
    DLT_ACCOUNT_ID,
    DLT_ACCOUNT_USER,
    DLT_ACCOUNT_PARTITION,
    DLT_ACCOUNT_STATE,
    DLT_ACCOUNT_ELAPSED, /* seconds */
    DLT_ACCOUNT_END,     /* YYYY-MM-DDTHH:MM:SS, or seconds since 1970 */
    DLT_ACCOUNT_COMMENT,
    DLT_ACCOUNT_SUBMIT,
    DLT_ACCOUNT_FIELDS
};
/* The value of sacct's --format. */
extern const char dlt_account_format[];

/* One job; texts point into what was parsed. */
struct dlt_account {
    const char *field[DLT_ACCOUNT_FIELDS];
};

/*
 * Takes sacct's output apart, in place: `text` is changed and has to outlive *jobs, which is the
 * caller's to free. delimiter: what stands between fields. With a header line the fields are those
 * that it names, in any order (then one line is one job); without, those of dlt_account_format.
 */
int dlt_account_parse(char *text, const char *delimiter, bool header, struct dlt_account **jobs,
                      size_t *count, struct dlt_error *error);

/* When a job ended, in seconds since 1970, local time as sacct prints it; NaN: not said. */
double dlt_account_end(const char *text);

#endif

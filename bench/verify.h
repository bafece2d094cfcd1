/*
 * verify.h - run one pass on a backend and hold its result against the reference.
 */
#ifndef DLBENCH_VERIFY_H
#define DLBENCH_VERIFY_H

#include "backend.h"

/*
 * The largest error of any array that the pass writes, as a share of that array's largest value.
 * choice: what the backend's libraries chose for it. Returns an enum bench_status. Meant for small
 * records (a million multiply-accumulates).
 */
int bench_verify(const struct dlbench_backend *backend, struct bench_context *context,
                 const struct dlt_record *record, double *relative_error,
                 struct bench_choice *choice, struct dlt_error *error);

/* What a correct result may differ by: rounding of float32, or of the 16-bit types. */
double bench_verify_tolerance(const struct dlt_record *record);

#endif

/* blas.h - OpenBLAS, before its first call. */
#ifndef DLT_LEARN_BLAS_H
#define DLT_LEARN_BLAS_H

#include "dltime.h"

/*
 * Has BLAS run in the thread that calls it, and sees to it that it ends: it maps 128 MiB for each
 * thread when it first computes there, and tries for ever where it may not (0.3.21, memory.c).
 * *threads: wanted, 0: the CPUs that the process may use. Fewer where limits on the address space
 * or on data leave no room for them; fails where they leave none for one.
 */
int dlt_blas_start(int *threads, struct dlt_error *error);

#endif

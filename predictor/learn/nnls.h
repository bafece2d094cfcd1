/* nnls.h - least squares with coefficients that must not be negative. */
#ifndef DLT_LEARN_NNLS_H
#define DLT_LEARN_NNLS_H

#include <stddef.h>

/*
 * Minimises |A x - b|^2 over x >= 0 from the normal equations, by the active-set method of Lawson
 * and Hanson, Solving Least Squares Problems (1974), chapter 23.
 * gram: A'A, n x n. right: A'b, n. x: the result, n. Columns that are zero, or that others make up,
 * get 0. Returns 0, or -1 out of memory.
 */
int dlt_nnls(const double *gram, const double *right, size_t n, double *x);

/*
 * Solves a x = b by Cholesky's factorisation for the `count` rows and columns of the n x n matrix
 * that index lists. factor: room for count x count. Returns -1 if they are linearly dependent.
 */
int dlt_cholesky_solve(const double *a, size_t n, const size_t *index, size_t count,
                       const double *b, double *factor, double *x);

#endif

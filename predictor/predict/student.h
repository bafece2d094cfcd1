/*
 * student.h - Student's t distribution, for spreads that rest on few cases.
 */
#ifndef DLT_PREDICT_STUDENT_H
#define DLT_PREDICT_STUDENT_H

/* P(T <= t) for `freedom` > 0 degrees of freedom (not necessarily whole). */
double dlt_student_cdf(double t, double freedom);

/* The t with P(T <= t) = probability; probability in (0, 1). */
double dlt_student_quantile(double probability, double freedom);

#endif

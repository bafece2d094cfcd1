/*
 * reference_sequence.h - forward passes of what is not spatial; gradients are differences of them.
 */
#ifndef DLBENCH_REFERENCE_SEQUENCE_H
#define DLBENCH_REFERENCE_SEQUENCE_H

#include "reference.h"

void bench_reference_rms_norm(const struct dlt_record *record, struct bench_arrays *arrays);
void bench_reference_cross_entropy(const struct dlt_record *record, struct bench_arrays *arrays);
void bench_reference_reduction(const struct dlt_record *record, struct bench_arrays *arrays);
void bench_reference_embedding(const struct dlt_record *record, struct bench_arrays *arrays);
void bench_reference_attention(const struct dlt_record *record, struct bench_arrays *arrays);
/* rnn, gru and lstm as torch.nn defines them, the two biases of a gate added up but for the new
 * gate of a gru. */
void bench_reference_recurrent(const struct dlt_record *record, struct bench_arrays *arrays);

#endif

/*
 * sampler_draw.h - log-uniform draws of each operator, and how a draw that is too large shrinks.
 */
#ifndef DLBENCH_SAMPLER_DRAW_H
#define DLBENCH_SAMPLER_DRAW_H

#include "graph/record.h"

void bench_draw_convolution(struct dlt_record *record, uint64_t *random);
void bench_draw_dense(struct dlt_record *record, uint64_t *random);
void bench_draw_bmm(struct dlt_record *record, uint64_t *random);
void bench_draw_pool(struct dlt_record *record, uint64_t *random);
void bench_draw_batch_norm(struct dlt_record *record, uint64_t *random);
void bench_draw_rows(struct dlt_record *record, uint64_t *random);
void bench_draw_elementwise(struct dlt_record *record, uint64_t *random);
void bench_draw_update(struct dlt_record *record, uint64_t *random);

/* Halves the batch (or what comes nearest to it), then the image. Returns false where nothing can
 * be made smaller. */
bool bench_draw_shrink(struct dlt_record *record);

#endif

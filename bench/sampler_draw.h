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
void bench_draw_upsample(struct dlt_record *record, uint64_t *random);
void bench_draw_elementwise(struct dlt_record *record, uint64_t *random);
void bench_draw_update(struct dlt_record *record, uint64_t *random);
void bench_draw_transposed(struct dlt_record *record, uint64_t *random);
void bench_draw_group_norm(struct dlt_record *record, uint64_t *random);
void bench_draw_embedding(struct dlt_record *record, uint64_t *random);
void bench_draw_attention(struct dlt_record *record, uint64_t *random);
void bench_draw_recurrent(struct dlt_record *record, uint64_t *random);

/* Which member of the record's union its kind uses. */
enum bench_member {
    BENCH_SPATIAL,
    BENCH_MATMUL,  /* rows in m: dense, embedding */
    BENCH_BATCHED, /* batch: bmm */
    BENCH_ROWWISE,
    BENCH_ATTENTION,
    BENCH_RECURRENT,
    BENCH_UPDATE
};
enum bench_member bench_draw_member(const struct dlt_record *record);

/* Makes sizes that follow from others agree with them: the output of a transposed convolution,
 * groups that divide the channels. Call it once the others are drawn or changed. */
void bench_draw_settle(struct dlt_record *record);

/* Halves the batch (or what comes nearest to it), then the image. Returns false where nothing can
 * be made smaller. */
bool bench_draw_shrink(struct dlt_record *record);

#endif

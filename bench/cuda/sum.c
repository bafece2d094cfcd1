/* SPDX-License-Identifier: Apache-2.0 */

/* Sums over everything but channels, in two steps: parts on all of the device, then their sum. */
#include "cuda.h"

int bench_splits(const struct bench_context *context, int64_t blocks, int64_t rows)
{
    const int64_t most = 256, enough = 4 * context->processors; /* blocks */
    int64_t splits = blocks > 0 ? enough / blocks : enough;

    splits = splits > rows / 16 ? rows / 16 : splits;
    splits = splits > most ? most : splits;
    return splits < 1 ? 1 : (int)splits;
}

int bench_add_combine(struct bench_layer *layer, enum dlt_pass pass,
                      const struct bench_buffer *partial, int64_t start, int64_t pitch, int splits,
                      struct bench_buffer *to, struct dlt_error *error)
{
    struct bench_buffer *from;
    struct bench_combine_arguments combine = {
        .count = (long long)to->count, .pitch = pitch, .splits = splits};
    int status = bench_buffer_alias(layer->context, partial, &partial->shape,
                                    (size_t)start * sizeof(float), &from, error);

    if (status)
        return status;
    return bench_add_call(
        layer, pass,
        &(struct bench_call){
            .kernel = "combine",
            .type = to->type,
            .grid = {bench_blocks(layer->context, 4 * combine.count)},
            BENCH_ARGUMENTS(combine),
            .pointer = {BENCH_POINTER(combine, partial, from), BENCH_POINTER(combine, out, to)}},
        error);
}

int bench_add_channel_sum(struct bench_layer *layer, enum dlt_pass pass,
                          const struct bench_buffer *gradient, int64_t images, int64_t channels,
                          int64_t plane, struct bench_buffer *to, struct dlt_error *error)
{
    bool columns = plane == 1;
    int64_t blocks = columns ? (channels + 31) / 32 : channels;
    struct bench_channel_arguments sum = {.images = images,
                                          .channels = (int)channels,
                                          .plane = (int)plane,
                                          .splits = bench_splits(layer->context, blocks, images)};
    struct bench_buffer *partial;
    int status = bench_scratch(layer, BENCH_F32, sum.splits * channels, &partial, error);

    if (status)
        return status;
    status = bench_add_call(layer, pass,
                            &(struct bench_call){.kernel = columns ? "column_sum" : "channel_sum",
                                                 .type = gradient->type,
                                                 .grid = {(unsigned)blocks, (unsigned)sum.splits},
                                                 BENCH_ARGUMENTS(sum),
                                                 .pointer = {BENCH_POINTER(sum, in, gradient),
                                                             BENCH_POINTER(sum, out, partial)}},
                            error);
    return status ? status
                  : bench_add_combine(layer, pass, partial, 0, channels, sum.splits, to, error);
}

int bench_add_reduce(struct bench_layer *layer, enum dlt_pass pass,
                     const struct bench_reduce_arguments *reduce, const struct bench_buffer *from,
                     const struct bench_buffer *to, struct dlt_error *error)
{
    const long long few = 64; /* elements that one thread sums */
    struct bench_reduce_arguments arguments = *reduce;
    bool by_thread = reduce->reduced < few;

    return bench_add_call(
        layer, pass,
        &(struct bench_call){
            .kernel = by_thread ? "reduce_few" : "reduce",
            .type = from->type,
            .grid = {by_thread ? bench_blocks(layer->context, 4 * reduce->outputs)
                               : bench_row_blocks(reduce->outputs)},
            .block = by_thread ? BENCH_BLOCK : bench_row_block(reduce->reduced),
            BENCH_ARGUMENTS(arguments),
            .pointer = {BENCH_POINTER(arguments, in, from), BENCH_POINTER(arguments, out, to)}},
        error);
}

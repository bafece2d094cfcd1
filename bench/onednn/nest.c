/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "onednn.h"

/* A dimension of the index space with each operand's stride. */
struct axis {
    int64_t size, stride[BENCH_NEST];
};

/* The strides of operand `md` over the dimensions of a space of `rank`, split at (block, size). */
static bool set_strides(struct axis *axis, int rank, int operand, bench_md md, int block,
                        int64_t size)
{
    int64_t strides[DNNL_MAX_NDIMS] = {0}, own_size = 0;
    const int64_t *dims = bench_md_dims(md);
    int own_rank = bench_md_rank(md), own_block = -1;
    bool blocked = bench_md_block(md, strides, &own_block, &own_size);

    if (blocked ? own_block != block || own_size != size || own_rank != rank
                : !bench_md_strides(md, strides))
        return false;
    for (int d = 0; d < own_rank; d++) {
        int at = d + rank - own_rank;

        if (at < 0 || dims[d] == 1)
            continue;
        axis[at].stride[operand] = strides[d];
        if (at == block && blocked)
            axis[rank].stride[operand] = 1;
        if (at == block && !blocked) {
            axis[at].stride[operand] = strides[d] * size;
            axis[rank].stride[operand] = strides[d];
        }
    }
    return true;
}

static void sort_axes(struct axis *axis, int count)
{
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && axis[j].stride[0] > axis[j - 1].stride[0]; j--) {
            struct axis moved = axis[j];

            axis[j] = axis[j - 1];
            axis[j - 1] = moved;
        }
}

/* Joins neighbours that every operand walks through as if they were one; drops those of size 1. */
static int join_axes(struct axis *axis, int count, int operands)
{
    int kept = 0;

    for (int i = 0; i < count; i++) {
        bool joins = kept > 0;

        if (axis[i].size == 1)
            continue;
        for (int o = 0; o < operands && joins; o++)
            joins = axis[kept - 1].stride[o] == axis[i].stride[o] * axis[i].size;
        if (joins) {
            axis[i].size *= axis[kept - 1].size;
            kept--;
        }
        axis[kept++] = axis[i];
    }
    if (kept == 0)
        axis[kept++] = (struct axis){.size = 1};
    return kept;
}

/* The outermost dimension that is long enough and that threads may share; else the longest. */
static int choose_split(const struct axis *axis, int count, int operands, unsigned summed)
{
    int best = -1;

    for (int i = 0; i < count; i++) {
        bool shared = true;

        for (int o = 0; o < operands; o++)
            shared = shared && !(summed >> o & 1 && axis[i].stride[o] == 0);
        if (!shared)
            continue;
        if (axis[i].size >= 64 && (best < 0 || axis[best].size < 64))
            return i;
        if (best < 0 || axis[i].size > axis[best].size)
            best = i;
    }
    return best;
}

int bench_nest_make(struct bench_nest *nest, const bench_md *md, int operands, unsigned summed)
{
    struct axis axis[BENCH_NEST_RANK] = {{.size = 0}};
    int64_t strides[DNNL_MAX_NDIMS], size = 1;
    const int64_t *dims = bench_md_dims(md[0]);
    int rank = bench_md_rank(md[0]), block = -1, count = rank;

    if (rank > BENCH_RANK)
        return -1;
    if (bench_md_block(md[0], strides, &block, &size))
        count++;
    for (int d = 0; d < rank; d++)
        axis[d].size = d == block ? dims[d] / size : dims[d];
    axis[rank].size = size;
    for (int o = 0; o < operands; o++)
        if (!set_strides(axis, rank, o, md[o], block, size))
            return -1;
    sort_axes(axis, count);
    count = join_axes(axis, count, operands);
    memset(nest, 0, sizeof *nest);
    nest->rank = count;
    nest->operands = operands;
    nest->split = choose_split(axis, count, operands, summed);
    for (int d = 0; d < count; d++) {
        nest->size[d] = axis[d].size;
        for (int o = 0; o < operands; o++)
            nest->stride[o][d] = axis[d].stride[o];
    }
    return 0;
}

struct walk {
    const struct bench_nest *nest;
    float *const *base;
    bench_row *row;
    void *data;
};

/* Goes through the indices of all dimensions but the last, the split one from `from` to `to`. */
static void walk_rows(void *argument, size_t from, size_t to)
{
    const struct walk *w = argument;
    const struct bench_nest *n = w->nest;
    int last = n->rank - 1;
    int64_t index[BENCH_NEST_RANK] = {0}, first[BENCH_NEST_RANK] = {0}, end[BENCH_NEST_RANK];
    int64_t step[BENCH_NEST];
    float *at[BENCH_NEST];

    for (int d = 0; d < n->rank; d++)
        end[d] = n->size[d];
    if (n->split >= 0) {
        first[n->split] = index[n->split] = (int64_t)from;
        end[n->split] = (int64_t)to;
    }
    for (int o = 0; o < n->operands; o++) {
        step[o] = n->stride[o][last];
        at[o] = w->base[o];
        if (n->split >= 0)
            at[o] += (int64_t)from * n->stride[o][n->split];
    }
    for (;;) {
        int d = last - 1;

        w->row(w->data, end[last] - first[last], at, step);
        for (; d >= 0; d--) {
            for (int o = 0; o < n->operands; o++)
                at[o] += n->stride[o][d];
            if (++index[d] < end[d])
                break;
            for (int o = 0; o < n->operands; o++)
                at[o] -= (end[d] - first[d]) * n->stride[o][d];
            index[d] = first[d];
        }
        if (d < 0)
            return;
    }
}

void bench_nest_run(int threads, const struct bench_nest *nest, float *const *base, bench_row *row,
                    void *data)
{
    struct walk walk = {nest, base, row, data};
    double elements = 1;

    for (int d = 0; d < nest->rank; d++)
        elements *= (double)nest->size[d];
    if (nest->split < 0)
        walk_rows(&walk, 0, 1);
    else if (elements < 4096)
        walk_rows(&walk, 0, (size_t)nest->size[nest->split]);
    else
        bench_parallel(threads, (size_t)nest->size[nest->split],
                       nest->split == nest->rank - 1 ? 64 : 1, walk_rows, &walk);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "onednn.h"

static void destroy_md(void *object)
{
    dnnl_memory_desc_destroy(object);
}

/* Takes over what was made, if it was. */
static bench_md keep(struct bench_context *context, bench_md_made made, dnnl_status_t status)
{
    if (status != dnnl_success || bench_own(&context->owned, made, destroy_md, NULL))
        return NULL;
    return made;
}

bench_md bench_md_strided(struct bench_context *context, dnnl_data_type_t type, int rank,
                          const int64_t *dim, const int64_t *strides)
{
    dnnl_dims_t dims = {0}, steps = {0};
    bench_md_made made = NULL;
    dnnl_status_t status;

    memcpy(dims, dim, sizeof *dim * (size_t)rank);
    memcpy(steps, strides, sizeof *strides * (size_t)rank);
    status = dnnl_memory_desc_create_with_strides(&made, rank, dims, type, steps);
    return keep(context, made, status);
}

bench_md bench_md_plain(struct bench_context *context, dnnl_data_type_t type, int rank,
                        const int64_t *dim)
{
    int64_t strides[DNNL_MAX_NDIMS] = {0};

    for (int d = rank - 1; d >= 0; d--)
        strides[d] = d == rank - 1 ? 1 : strides[d + 1] * dim[d + 1];
    return bench_md_strided(context, type, rank, dim, strides);
}

bench_md bench_md_last(struct bench_context *context, dnnl_data_type_t type, int rank,
                       const int64_t *dim)
{
    int64_t strides[DNNL_MAX_NDIMS] = {0};

    strides[1] = 1;
    for (int d = rank - 1; d >= 2; d--)
        strides[d] = d == rank - 1 ? dim[1] : strides[d + 1] * dim[d + 1];
    strides[0] = rank > 2 ? strides[2] * dim[2] : dim[1];
    return bench_md_strided(context, type, rank, dim, strides);
}

bench_md bench_md_any(struct bench_context *context, dnnl_data_type_t type, int rank,
                      const int64_t *dim)
{
    bench_md_made made = NULL;
    dnnl_dims_t dims = {0};
    dnnl_status_t status;

    memcpy(dims, dim, sizeof *dim * (size_t)rank);
    status = dnnl_memory_desc_create_with_tag(&made, rank, dims, type, dnnl_format_tag_any);
    return keep(context, made, status);
}

bench_md bench_md_part(struct bench_context *context, bench_md md, const int64_t *dim,
                       const int64_t *offsets)
{
    bench_md_made made = NULL;
    dnnl_dims_t dims = {0}, starts = {0};
    size_t size = sizeof *dim * (size_t)bench_md_rank(md);
    dnnl_status_t status;

    memcpy(dims, dim, size);
    memcpy(starts, offsets, size);
    status = dnnl_memory_desc_create_submemory(&made, md, dims, starts);
    return keep(context, made, status);
}

bench_md bench_md_flat(struct bench_context *context, bench_md md)
{
    return bench_md_plain(context, bench_md_type(md), bench_md_rank(md), bench_md_dims(md));
}

bench_md bench_query_at(struct bench_context *context, dnnl_primitive_desc_t pd, dnnl_query_t what,
                        int index)
{
    bench_md_made made = NULL;
    dnnl_status_t status =
        dnnl_memory_desc_clone(&made, dnnl_primitive_desc_query_md(pd, what, index));

    return keep(context, made, status);
}

bench_md bench_query(struct bench_context *context, dnnl_primitive_desc_t pd, dnnl_query_t what)
{
    return bench_query_at(context, pd, what, 0);
}

int bench_md_rank(bench_md md)
{
    int rank = 0;

    if (md)
        dnnl_memory_desc_query(md, dnnl_query_ndims_s32, &rank);
    return rank;
}

/* One of the descriptor's lists; NULL where it has none of these. */
static const int64_t *list_of(bench_md md, int what)
{
    const dnnl_dims_t *list = NULL;

    if (dnnl_memory_desc_query(md, what, &list) != dnnl_success || !list)
        return NULL;
    return &(*list)[0];
}

/* What every descriptor has. */
static const int64_t *sizes_of(bench_md md, int what)
{
    static const dnnl_dims_t none;
    const int64_t *list = list_of(md, what);

    return list ? list : none;
}

const int64_t *bench_md_dims(bench_md md)
{
    return sizes_of(md, dnnl_query_dims);
}

dnnl_data_type_t bench_md_type(bench_md md)
{
    dnnl_data_type_t type = dnnl_data_type_undef;

    dnnl_memory_desc_query(md, dnnl_query_data_type, &type);
    return type;
}

size_t bench_md_size(bench_md md)
{
    return md ? dnnl_memory_desc_get_size(md) : 0;
}

size_t bench_md_elements(bench_md md)
{
    const int64_t *dims = bench_md_dims(md);
    size_t count = 1;

    for (int d = 0; d < bench_md_rank(md); d++)
        count *= (size_t)dims[d];
    return count;
}

bool bench_md_equal(bench_md a, bench_md b)
{
    return a == b || (a && b && dnnl_memory_desc_equal(a, b));
}

bool bench_md_padded(bench_md md)
{
    const int64_t *padded = sizes_of(md, dnnl_query_padded_dims), *dims = bench_md_dims(md);

    for (int d = 0; d < bench_md_rank(md); d++)
        if (padded[d] != dims[d])
            return true;
    return false;
}

bool bench_md_dense(bench_md md)
{
    const int64_t *padded = sizes_of(md, dnnl_query_padded_dims);
    size_t count = dnnl_data_type_size(bench_md_type(md));

    for (int d = 0; d < bench_md_rank(md); d++)
        count *= (size_t)padded[d];
    return bench_md_size(md) == count;
}

bool bench_md_strides(bench_md md, int64_t strides[DNNL_MAX_NDIMS])
{
    int blocks = -1;
    const int64_t *list;

    if (dnnl_memory_desc_query(md, dnnl_query_inner_nblks_s32, &blocks) != dnnl_success ||
        blocks != 0)
        return false;
    list = list_of(md, dnnl_query_strides);
    if (list)
        memcpy(strides, list, sizeof *list * (size_t)bench_md_rank(md));
    return list != NULL;
}

bool bench_md_block(bench_md md, int64_t strides[DNNL_MAX_NDIMS], int *dimension, int64_t *size)
{
    const int64_t *list = list_of(md, dnnl_query_strides), *sizes, *indices;
    int blocks = -1;

    if (!list || bench_md_padded(md) ||
        dnnl_memory_desc_query(md, dnnl_query_inner_nblks_s32, &blocks) != dnnl_success ||
        blocks != 1)
        return false;
    sizes = list_of(md, dnnl_query_inner_blks);
    indices = list_of(md, dnnl_query_inner_idxs);
    if (!sizes || !indices)
        return false;
    memcpy(strides, list, sizeof *list * (size_t)bench_md_rank(md));
    *dimension = (int)indices[0];
    *size = sizes[0];
    return true;
}

bool bench_fills_blocks(int64_t channels)
{
    /* Instruction sets are numbered so that a larger one has the bits of the smaller. */
    bool wide =
        (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;

    return channels % (wide ? 16 : 8) == 0;
}

/*
 * shapes.h - random layers of spatial operators on random inputs, as the graph sees them: for tests
 * against libraries that know the shape of an output.
 */
#ifndef DLT_TESTS_SHAPES_H
#define DLT_TESTS_SHAPES_H

#include <string.h>

#include "graph/op.h"
#include "test.h"

static uint64_t seed = 1;

static inline int64_t draw(int64_t least, int64_t most)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return least + (int64_t)((seed >> 33) % (uint64_t)(most - least + 1));
}

struct layer {
    const struct dlt_op *op;
    int64_t attribute[DLT_ATTRIBUTES];
    struct dlt_tensor input;
    struct dlt_op_result result;
    bool taken; /* false: the operator refuses these attributes for this input */
};

/* The operator of that name with these attributes on a batch of 2 of random size. */
static inline struct layer infer(const char *name, const void *attributes, size_t size,
                                 int64_t channels)
{
    struct layer l = {.op = dlt_op_find(name)};
    int zero = 0;
    struct dlt_op_site site = {.op = l.op, .input = &zero, .input_count = 1, .training = true};

    memcpy(l.attribute, attributes, size);
    l.input = (struct dlt_tensor){.rank = l.op->dims + 2, .dim = {2, channels}};
    for (int d = 0; d < l.op->dims; d++)
        l.input.dim[d + 2] = draw(1, 24);
    site.attribute = l.attribute;
    site.tensor = &l.input;
    l.taken = dlt_op_infer(&site, &l.result, NULL) == 0;
    return l;
}

/* transposed: with an output_padding below the stride. even: as much padding before as after. */
static inline struct layer draw_convolution(const char *name, bool transposed, bool even)
{
    struct dlt_convolution_attributes a = {.in_channels = DLT_ABSENT};

    a.groups = draw(1, 3);
    a.out_channels = a.groups * draw(1, 4);
    for (int d = 0; d < 3; d++) {
        a.kernel_size[d] = draw(1, 6);
        a.stride[d] = draw(1, 4);
        a.dilation[d] = draw(1, 3);
        a.padding[d][0] = draw(0, 4);
        a.padding[d][1] = even ? a.padding[d][0] : draw(0, 4);
        a.output_padding[d] = transposed ? draw(0, a.stride[d] - 1) : 0;
    }
    return infer(name, &a, sizeof a, a.groups * draw(1, 4));
}

static inline struct layer draw_pool(const char *name, bool ceil_mode, int64_t most_dilation)
{
    struct dlt_pool_attributes a = {.ceil_mode = ceil_mode};

    for (int d = 0; d < 3; d++) {
        a.kernel_size[d] = draw(1, 5);
        a.stride[d] = draw(1, 4);
        a.dilation[d] = draw(1, most_dilation);
        a.padding[d][0] = a.padding[d][1] = draw(0, a.kernel_size[d] / 2);
    }
    return infer(name, &a, sizeof a, draw(1, 5));
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that copy: concat, pad, gathering, shuffling, upsampling. */
#include <stdio.h>

#include "base/error.h"
#include "graph/op_row.h"

static int concat(const struct dlt_op_site *site, struct dlt_op_result *result,
                  struct dlt_error *error)
{
    const struct dlt_dim_attributes *a = (const void *)site->attribute;
    struct dlt_tensor *out = &result->output[0];
    char one[DLT_SHAPE_TEXT], other[DLT_SHAPE_TEXT];
    int dim;

    *out = *dlt_site_input(site, 0);
    result->output_count = 1;
    if (dlt_wrap_dim(a->dim, out->rank, &dim, error))
        return dlt_fail_in(error, "dim: ");
    for (size_t i = 1; i < site->input_count; i++) {
        const struct dlt_tensor *in = dlt_site_input(site, i);
        bool fits = in->rank == out->rank;

        for (int d = 0; fits && d < out->rank; d++)
            fits = d == dim || in->dim[d] == out->dim[d];
        if (!fits)
            return dlt_fail(error, "shapes %s and %s differ elsewhere than in dimension %d",
                            dlt_shape_text(dlt_site_input(site, 0), one), dlt_shape_text(in, other),
                            dim);
        out->dim[dim] += in->dim[dim];
    }
    dlt_rowwise_record(site->op, out, site->input_count, &result->record);
    return 0;
}

/* The same shape in memory of its own. */
static int copy(const struct dlt_op_site *site, struct dlt_op_result *result,
                struct dlt_error *error)
{
    (void)error;
    dlt_same_shape(site, result);
    dlt_rowwise_record(site->op, &result->output[0], 1, &result->record);
    return 0;
}

/* torch.nn.functional.pad: pairs of before and after, the last dimension first; negative ones
 * crop. One number: before and after in all dimensions but the first two, as torch.nn.ZeroPad2d. */
static int pad(const struct dlt_op_site *site, struct dlt_op_result *result,
               struct dlt_error *error)
{
    const struct dlt_reshape_attributes *a = (const void *)site->attribute;
    struct dlt_tensor *out = &result->output[0];
    int64_t count = a->shape.count;

    dlt_same_shape(site, result);
    if (count % 2 || count / 2 > out->rank)
        return dlt_fail(error, "padding: it takes pairs, at most one for each of %d dimensions",
                        out->rank);
    for (int d = 2; count == 0 && d < out->rank; d++)
        out->dim[d] += 2 * a->shape.value[0];
    for (int64_t i = 0; i < count; i += 2) {
        const int64_t *side = &a->shape.value[i];
        int64_t *size = &out->dim[out->rank - 1 - i / 2];

        if (*size + (side[0] < 0 ? side[0] : 0) + (side[1] < 0 ? side[1] : 0) < 0)
            return dlt_fail(error, "padding: %lld and %lld crop more than the %lld there are",
                            (long long)side[0], (long long)side[1], (long long)*size);
        *size += side[0] + side[1];
    }
    dlt_rowwise_record(site->op, out, 1, &result->record);
    return 0;
}

/* Input and index: the index's shape in the place of dimension dim (torch.index_select, and ONNX's
 * Gather where the index has another rank than 1). */
static int index_select(const struct dlt_op_site *site, struct dlt_op_result *result,
                        struct dlt_error *error)
{
    const struct dlt_dim_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0), *index = dlt_site_input(site, 1);
    struct dlt_tensor *out = &result->output[0];
    int dim;

    if (dlt_wrap_dim(a->dim, in->rank, &dim, error))
        return dlt_fail_in(error, "dim: ");
    if (in->rank + index->rank - 1 > DLT_RANK)
        return dlt_fail(error, "its output would have more than %d dimensions", DLT_RANK);
    dlt_same_shape(site, result);
    out->rank = in->rank + index->rank - 1;
    for (int d = 0; d < index->rank; d++)
        out->dim[dim + d] = index->dim[d];
    for (int d = dim + 1; d < in->rank; d++)
        out->dim[d + index->rank - 1] = in->dim[d];
    dlt_rowwise_record(site->op, out, 1, &result->record);
    return 0;
}

/* torch.gather: as many elements as the index has. */
static int gather(const struct dlt_op_site *site, struct dlt_op_result *result,
                  struct dlt_error *error)
{
    const struct dlt_dim_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0), *index = dlt_site_input(site, 1);
    char one[DLT_SHAPE_TEXT], other[DLT_SHAPE_TEXT];
    int dim;

    if (dlt_wrap_dim(a->dim, in->rank, &dim, error))
        return dlt_fail_in(error, "dim: ");
    if (in->rank != index->rank)
        return dlt_fail(error, "shapes %s and %s; input and index have as many dimensions",
                        dlt_shape_text(in, one), dlt_shape_text(index, other));
    result->output[0] = *index;
    result->output[0].type = in->type;
    result->output_count = 1;
    dlt_rowwise_record(site->op, &result->output[0], 1, &result->record);
    return 0;
}

static int channel_shuffle(const struct dlt_op_site *site, struct dlt_op_result *result,
                           struct dlt_error *error)
{
    const struct dlt_factor_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);

    if (in->rank < 2 || in->dim[1] % a->factor)
        return dlt_fail(error, "groups %lld does not divide the channels", (long long)a->factor);
    return copy(site, result, error);
}

/* C r^2 x H x W to C x H r x W r. */
static int pixel_shuffle(const struct dlt_op_site *site, struct dlt_op_result *result,
                         struct dlt_error *error)
{
    const struct dlt_factor_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    struct dlt_tensor *out = &result->output[0];
    int64_t square = a->factor * a->factor;
    char text[DLT_SHAPE_TEXT];

    if (in->rank != 4 || in->dim[1] % square)
        return dlt_fail(error,
                        "its input is %s; upscale_factor %lld takes a multiple of %lld "
                        "channels, height and width",
                        dlt_shape_text(in, text), (long long)a->factor, (long long)square);
    dlt_same_shape(site, result);
    out->dim[1] /= square;
    out->dim[2] *= a->factor;
    out->dim[3] *= a->factor;
    dlt_rowwise_record(site->op, out, 1, &result->record);
    return 0;
}

static int pixel_unshuffle(const struct dlt_op_site *site, struct dlt_op_result *result,
                           struct dlt_error *error)
{
    const struct dlt_factor_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    struct dlt_tensor *out = &result->output[0];
    char text[DLT_SHAPE_TEXT];

    if (in->rank != 4 || in->dim[2] % a->factor || in->dim[3] % a->factor)
        return dlt_fail(error,
                        "its input is %s; downscale_factor %lld has to divide height and "
                        "width",
                        dlt_shape_text(in, text), (long long)a->factor);
    dlt_same_shape(site, result);
    if (__builtin_mul_overflow(out->dim[1], a->factor * a->factor, &out->dim[1]))
        return dlt_fail(error, "its channels would pass 2^63");
    out->dim[2] /= a->factor;
    out->dim[3] /= a->factor;
    dlt_rowwise_record(site->op, out, 1, &result->record);
    return 0;
}

/* The spatial dimensions, those after the second, to size or by a whole factor. */
static int upsample(const struct dlt_op_site *site, struct dlt_op_result *result,
                    struct dlt_error *error)
{
    const struct dlt_upsample_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    struct dlt_tensor *out = &result->output[0];
    char text[DLT_SHAPE_TEXT];

    dlt_same_shape(site, result);
    if (in->rank < 3 || in->rank > 5)
        return dlt_fail(error, "its input is %s; it takes batch x channels x 1 to 3 dimensions",
                        dlt_shape_text(in, text));
    if ((a->size.count == DLT_ABSENT) == (a->scale_factor == DLT_ABSENT))
        return dlt_fail(error, "it takes one of size and scale_factor");
    if (a->size.count > 0 && a->size.count != in->rank - 2)
        return dlt_fail(error, "size: its input is %s, so it takes %d numbers",
                        dlt_shape_text(in, text), in->rank - 2);
    for (int d = 2; d < in->rank; d++) {
        if (a->size.count == DLT_ABSENT)
            out->dim[d] *= a->scale_factor;
        else
            out->dim[d] = a->size.value[a->size.count ? d - 2 : 0];
    }
    result->record = dlt_op_record(site->op);
    result->record.u.rowwise =
        (struct dlt_rowwise){.function = a->mode,
                             .operands = dlt_shape_product(in, 2, in->rank),
                             .rows = dlt_shape_product(in, 0, 2),
                             .columns = dlt_shape_product(out, 2, out->rank)};
    return 0;
}

static const char *const pad_modes[] = {"constant", "reflect", "replicate", "circular", NULL};
static const char *const upsample_modes[] = {"nearest", "nearest-exact", "linear", "bilinear",
                                             "bicubic", "trilinear",     NULL};

#define COPY(op_name, inputs, op_saves, op_infer, ...)                                             \
    {                                                                                              \
        .name = (op_name), .class = DLT_OP_MOVE, .saves = (op_saves), .least_inputs = (inputs),    \
        .most_inputs = (inputs), .kind = "elementwise", .function = DLT_COPY,                      \
        .attribute = {__VA_ARGS__}, .takes_integers = true, .infer = (op_infer)                    \
    }
#define FACTOR(name)                                                                               \
    {                                                                                              \
        name, DLT_ATTRIBUTE_INT, SLOT(factor, factor), true, 0, 1, MOST_WINDOW, NULL               \
    }

static const struct dlt_op rows[] = {
    {.name = "concat",
     .class = DLT_OP_MOVE,
     .least_inputs = 1,
     .most_inputs = MOST_INPUTS,
     .kind = "elementwise",
     .function = DLT_CONCAT,
     .attribute = {DIM(dim, dim, 1)},
     .takes_integers = true,
     .infer = concat},
    COPY("contiguous", 1, 0, copy, {0}),
    COPY("roll", 1, 0, copy, SIZES_FROM("shifts", SLOT(reshape, shape), false, -MOST_SIZE),
         SIZES_FROM("dims", SLOT(reshape, shape), false, -DLT_RANK)),
    COPY("flip", 1, 0, copy, SIZES_FROM("dims", SLOT(reshape, shape), false, -DLT_RANK)),
    COPY("pad", 1, 0, pad, SIZES_FROM("padding", SLOT(reshape, shape), true, -MOST_SIZE),
         NAME_IGNORED("mode", pad_modes), REAL_IGNORED("value")),
    COPY("index_select", 2, DLT_SAVE_SECOND, index_select, DIM(dim, dim, 0)),
    COPY("gather", 2, DLT_SAVE_INPUTS, gather, DIM(dim, dim, 0)),
    COPY("channel_shuffle", 1, 0, channel_shuffle, FACTOR("groups")),
    COPY("pixel_shuffle", 1, 0, pixel_shuffle, FACTOR("upscale_factor")),
    COPY("pixel_unshuffle", 1, 0, pixel_unshuffle, FACTOR("downscale_factor")),
    {.name = "upsample",
     .class = DLT_OP_MOVE,
     .least_inputs = 1,
     .most_inputs = 1,
     .kind = "upsample",
     .attribute = {SIZES(size, upsample, false), AGREES(scale_factor, upsample),
                   NAMED(mode, upsample, DLT_NEAREST, upsample_modes),
                   FLAG_IGNORED("align_corners")},
     .infer = upsample},
};
FAMILY(dlt_ops_move, rows);

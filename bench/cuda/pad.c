/* SPDX-License-Identifier: Apache-2.0 */

/* Padding that differs between the sides, as "same" makes it. cuDNN pads both sides alike, so that
 * what one side has more is added by a copy into a larger array, as TensorFlow does
 * (core/kernels/conv_ops.cc, LaunchConv2DOp); a gradient's copy is cut out again. */
#include "../shapes.h"
#include "cuda.h"

bool bench_pad_needed(const struct dlt_record *record)
{
    const struct dlt_spatial *s = &record->u.spatial;

    for (int d = 0; d < record->kind->dims; d++)
        if (s->padding[d][0] != s->padding[d][1])
            return true;
    return false;
}

int64_t bench_pad_common(const struct dlt_record *record, int dim)
{
    const int64_t *padding = record->u.spatial.padding[dim];

    return padding[0] < padding[1] ? padding[0] : padding[1];
}

void bench_pad_shape(const struct dlt_record *record, struct bench_shape *shape)
{
    const struct dlt_spatial *s = &record->u.spatial;

    bench_role_shape(record, BENCH_INPUT, 0, shape);
    for (int d = 0; d < record->kind->dims; d++)
        shape->dim[2 + d] += s->padding[d][0] + s->padding[d][1] - 2 * bench_pad_common(record, d);
}

int bench_pad_buffer(struct bench_layer *layer, struct bench_buffer **buffer,
                     struct dlt_error *error)
{
    struct bench_shape shape;
    int status;

    bench_pad_shape(&layer->record, &shape);
    status = bench_buffer_create(layer->context, layer->type, layer->last, &shape, layer->copies,
                                 buffer, error);
    /* Nothing writes the margin again. */
    return status ? status : bench_buffer_fill(layer->context, *buffer, 0, 0, error);
}

/* The image's places in the padded array. */
static struct bench_map_arguments places(const struct bench_layer *layer,
                                         const struct bench_buffer *padded)
{
    const struct dlt_record *record = &layer->record;
    struct bench_map_arguments map = {.count = 1};
    struct bench_shape image;
    long long step = 1;

    bench_role_shape(record, BENCH_INPUT, 0, &image);
    map.rank = image.rank;
    for (int place = image.rank - 1; place >= 0; place--) {
        /* Channels come last where the layout says so. */
        int d = !layer->last || place == 0 ? place : place == image.rank - 1 ? 1 : place + 1;

        map.dim[place] = image.dim[d];
        map.stride[place] = step;
        if (d >= 2)
            map.start +=
                step * (record->u.spatial.padding[d - 2][0] - bench_pad_common(record, d - 2));
        map.count *= image.dim[d];
        step *= padded->shape.dim[d];
    }
    return map;
}

int bench_pad_add(struct bench_layer *layer, enum dlt_pass pass, bool into,
                  const struct bench_buffer *image, const struct bench_buffer *padded,
                  struct dlt_error *error)
{
    struct bench_map_arguments map = places(layer, padded);

    return bench_add_call(
        layer, pass,
        &(struct bench_call){.kernel = into ? "map_back" : "map",
                             .type = layer->type,
                             .grid = {bench_blocks(layer->context, map.count)},
                             BENCH_ARGUMENTS(map),
                             .pointer = {BENCH_POINTER(map, in, into ? image : padded),
                                         BENCH_POINTER(map, out, into ? padded : image)}},
        error);
}

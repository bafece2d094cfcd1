/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products: the cost model's columns of conv*d, dense and bmm, and the features of dense and
 * bmm, which say how a product of m x k by k x n falls into the tiles of a GEMM and those over the
 * multiprocessors.
 */
#include <math.h>

#include "predict/features.h"

/* Columns of one part of a pass: what every product moves and computes. here: 1 or 0. */
static void part_columns(const struct dlt_record *record, const struct dlt_work *w, double here,
                         bool activated, struct dlt_numbers *c)
{
    double macs = w->batch * w->m * w->n * w->k;
    double cold = here * (record->cache != DLT_CACHE_WARM);

    dlt_numbers_add(c, "1", here);
    dlt_numbers_add(c, "I", here * w->input);
    dlt_numbers_add(c, "O", here * w->output);
    dlt_numbers_add(c, "W", here * w->weights);
    dlt_numbers_add(c, "cold I", cold * w->input);
    dlt_numbers_add(c, "cold O", cold * w->output);
    dlt_numbers_add(c, "cold W", cold * w->weights);
    dlt_numbers_add(c, "macs", here * macs);
    for (int function = 1; activated && function < DLT_ADD; function++)
        dlt_numbers_add(c, dlt_function_names[function],
                        (int)record->activation == function ? here * w->output : 0);
}

static double padded(double x, double tile)
{
    return ceil(x / tile) * tile;
}

/* 1 where an algorithm multiplies less than the direct sum, near 0 where it multiplies far more and
 * no library takes it: a transform in tiles of 32 x 32 of an image of 2 x 2 moves hundreds of times
 * what the layer does. */
static double pays(const struct dlt_algorithm *algorithm, double direct_macs)
{
    double times = algorithm->macs / direct_macs;

    return 1 / (1 + times * times);
}

/* Transforms, where they pay. After all other columns, since sections that were learned before
 * there were these know the others by their places. */
static void transform_columns(const struct dlt_record *record, const struct dlt_work *w,
                              double here, struct dlt_numbers *c)
{
    struct dlt_geometry g = dlt_geometry_of(record);
    double direct = fmax(w->batch * w->m * w->n * w->k, 1);
    double first = here * (g.stride == 1 && g.kernel > 1);
    const struct dlt_algorithm winograd = dlt_winograd(&g, 4), whole = dlt_fourier(&g, false),
                               tiled = dlt_fourier(&g, true);
    double by_winograd = g.kernel == 3 ? first * pays(&winograd, direct) : 0;
    double by_whole = first * pays(&whole, direct), by_tiled = first * pays(&tiled, direct);

    dlt_numbers_add(c, "winograd paying macs", by_winograd * winograd.macs);
    dlt_numbers_add(c, "winograd paying elements", by_winograd * winograd.elements);
    dlt_numbers_add(c, "fft paying macs", by_whole * whole.macs);
    dlt_numbers_add(c, "fft paying elements", by_whole * whole.elements);
    dlt_numbers_add(c, "fft tiled paying macs", by_tiled * tiled.macs);
    dlt_numbers_add(c, "fft tiled paying elements", by_tiled * tiled.elements);
}

/* The product of one part as libraries tile it: channels of the result padded to the tile. Forward
 * makes out_channels, the data gradient in_channels, the weight gradient both. */
static void tile_columns(const struct dlt_geometry *g, const struct dlt_work *w, int part,
                         double here, struct dlt_numbers *c)
{
    static const double tiles[] = {32, 64, 128};
    double points = here * g->groups * w->m * g->window;

    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++) {
        double out = part == 1 ? g->out_channels : padded(g->out_channels, tiles[t]);
        double in = part == 0 ? g->in_channels : padded(g->in_channels, tiles[t]);

        dlt_numbers_add(c, "macs tiled", points * out * in);
    }
}

/* Where a plain product of cuBLAS computes it, and where transforms do. A product of few columns
 * costs its tiles rather than its MACs. */
static void path_columns(const struct dlt_geometry *g, const struct dlt_work *w, int part,
                         double here, struct dlt_numbers *c)
{
    double plain = here * dlt_geometry_is_product(g);
    double transformed = here * (g->stride == 1 && g->kernel > 1);
    double columns = part == 1 ? g->in_channels : g->out_channels;
    struct dlt_algorithm winograd = dlt_winograd(g, 4), whole = dlt_fourier(g, false),
                         tiled = dlt_fourier(g, true);

    dlt_numbers_add(c, "product I", plain * w->input);
    dlt_numbers_add(c, "product O", plain * w->output);
    dlt_numbers_add(c, "product tiles", plain * w->m * ceil(columns / 64));
    dlt_numbers_add(c, "product macs", plain * w->m * w->n * w->k);
    dlt_numbers_add(c, "tiles", here * g->groups * w->m * ceil(columns / 64));
    dlt_numbers_add(c, "winograd macs", g->kernel == 3 ? transformed * winograd.macs : 0);
    dlt_numbers_add(c, "winograd elements", g->kernel == 3 ? transformed * winograd.elements : 0);
    dlt_numbers_add(c, "fft macs", transformed * whole.macs);
    dlt_numbers_add(c, "fft elements", transformed * whole.elements);
    dlt_numbers_add(c, "fft tiled macs", transformed * tiled.macs);
    dlt_numbers_add(c, "fft tiled elements", transformed * tiled.elements);
}

static void convolution_columns(const struct dlt_record *record, const struct dlt_work *w, int part,
                                double here, struct dlt_numbers *c)
{
    struct dlt_geometry g = dlt_geometry_of(record);
    double macs = here * w->batch * w->m * w->n * w->k;
    double first = g.stride == 1;

    dlt_numbers_add(c, "bias O", record->u.spatial.bias ? here * w->output : 0);
    dlt_numbers_add(c, "odd padding I", fmod(g.padding, 2) * here * w->input);
    dlt_numbers_add(c, "macs s=1", first * macs);
    dlt_numbers_add(c, "macs s>1", (1 - first) * macs);
    dlt_numbers_add(c, "macs k=1", g.kernel == 1 ? macs : 0);
    dlt_numbers_add(c, "macs k=3,s=1", g.kernel == 3 ? first * macs : 0);
    dlt_numbers_add(c, "macs k=2,s=1", g.kernel == 2 ? first * macs : 0);
    dlt_numbers_add(c, "macs k=4+,s=1", g.kernel > 3 ? first * macs : 0);
    dlt_numbers_add(c, "macs k=6+,s=1", g.kernel > 5 ? first * macs : 0);
    dlt_numbers_add(c, "MK", here * w->batch * w->m * w->k);
    dlt_numbers_add(c, "macs groups", g.groups > 1 ? macs : 0);
    dlt_numbers_add(c, "I groups", g.groups > 1 ? here * w->input : 0);
    tile_columns(&g, w, part, here, c);
    path_columns(&g, w, part, here, c);
}

void dlt_columns_matmul(const struct dlt_record *record, const struct dlt_work *work,
                        struct dlt_numbers *c)
{
    struct dlt_parts parts = dlt_pass_parts(record->pass);
    double touches = dlt_optimizer_touches(record->optimizer);
    const bool here[] = {parts.forward, parts.data, parts.weight};

    for (int part = 0; part < 3; part++) {
        part_columns(record, work, here[part], part < 2, c);
        if (record->kind->dims > 0)
            convolution_columns(record, work, part, here[part], c);
    }
    touches *= parts.update;
    dlt_numbers_add(c, "update input", touches * work->input);
    dlt_numbers_add(c, "update weights", touches * work->weights);
    for (int optimizer = 1; optimizer < DLT_OPTIMIZERS; optimizer++) {
        double on = parts.update && (int)record->optimizer == optimizer;

        dlt_numbers_add(c, "update of", on);
        dlt_numbers_add(c, "update input of", on * touches * work->input);
        dlt_numbers_add(c, "update weights of", on * touches * work->weights);
    }
    for (int part = 0; part < 3 && record->kind->dims > 0; part++)
        transform_columns(record, work, here[part], c);
}

/* Tiles of the result by the size that a library's kernels may have: what it computes of rounds of
 * tiles over all multiprocessors, by what was asked for, and what of rows and columns no whole tile
 * has. After all other features, since sections that were learned before there were these know the
 * others by their places. */
static void tile_features(const struct dlt_work *w, double sms, struct dlt_numbers *f)
{
    static const int tiles[][2] = {{32, 32},  {64, 64},   {32, 128}, {128, 64},
                                   {64, 128}, {128, 128}, {64, 256}, {256, 128}};

    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++) {
        double here = w->batch * ceil(w->m / tiles[t][0]) * ceil(w->n / tiles[t][1]);
        double computed = padded(here, sms) * tiles[t][0] * tiles[t][1];

        dlt_numbers_add(f, "q rounds of tiles", log(computed / (w->batch * w->m * w->n)));
    }
    for (int tile = 64; tile <= 128; tile *= 2) {
        dlt_numbers_add(f, "q m in tile", fmod(w->m, tile) / tile);
        dlt_numbers_add(f, "q n in tile", fmod(w->n, tile) / tile);
    }
}

void dlt_features_matmul(const struct dlt_record *record, const struct dlt_work *work,
                         const struct dlt_device *device, struct dlt_numbers *f)
{
    double m = work->m, n = work->n, k = work->k;
    double sms = device->sms > 0 ? device->sms : fmax((double)record->threads, 1);
    double tiles = work->batch * ceil(m / 128) * ceil(n / 64);
    struct dlt_parts parts = dlt_pass_parts(record->pass);
    static const double widths[] = {8, 16, 32, 64, 128, 256, 512, 1024};
    static const double rows[] = {8, 16, 32, 128};
    static const int divisors[] = {2, 4, 8, 32};

    dlt_numbers_add(f, "bias", (double)record->u.matmul.bias);
    dlt_numbers_add(f, "ln m", log(m));
    dlt_numbers_add(f, "ln n", log(n));
    dlt_numbers_add(f, "ln k", log(k));
    dlt_numbers_add(f, "ln products", log(work->batch));
    dlt_numbers_add(f, "ln macs", log(fmax(work->macs, 1)));
    dlt_numbers_add(f, "ln min", log(fmin(m, n)));
    dlt_numbers_add(f, "ln m/n", log(m / n));
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        dlt_numbers_add(f, "q n", dlt_padding_waste(n, widths[i]));
        dlt_numbers_add(f, "q k", dlt_padding_waste(k, widths[i]));
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        dlt_numbers_add(f, "q m", dlt_padding_waste(m, rows[i]));
    for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++) {
        dlt_numbers_add(f, "n %", fmod(n, divisors[i]) == 0);
        dlt_numbers_add(f, "k %", fmod(k, divisors[i]) == 0);
        dlt_numbers_add(f, "m %", fmod(m, divisors[i]) == 0);
    }
    dlt_numbers_add(f, "ln waves", log(tiles / sms));
    dlt_numbers_add(f, "q waves", dlt_padding_waste(tiles, sms));
    tiles = work->batch * ceil(m / 32) * ceil(n / 32);
    dlt_numbers_add(f, "ln waves 32", log(tiles / sms));
    dlt_numbers_add(f, "q waves 32", dlt_padding_waste(tiles, sms));
    for (int b = 8; b <= 56; b += 8)
        dlt_numbers_add(f, "m >", m > b);
    for (int b = 1; b <= 4; b *= 2)
        dlt_numbers_add(f, "m <=", m <= b);
    dlt_numbers_add(f, "backward ln W", parts.data || parts.weight ? log(n * k) : 0);
    dlt_numbers_add(f, "ln bytes/l2",
                    device->l2_bytes > 0 ? log(work->bytes / device->l2_bytes) : 0);
    tile_features(work, sms, f);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions. The features say what the algorithms of cuDNN and oneDNN are sensitive to: padding
 * of channels to vector and tile widths, tile sizes of FFT convolutions, Winograd's 2 x 2 and 4 x 4
 * output tiles, and the sizes where one algorithm takes over from another.
 */
#include <math.h>

#include "predict/features.h"

static double next_power_of_two(double x)
{
    return exp2(ceil(log2(fmax(x, 1))));
}

struct dlt_geometry dlt_geometry_of(const struct dlt_record *record)
{
    const struct dlt_spatial *s = &record->u.spatial;
    int dims = record->kind->dims;
    double in = 1, stride = 1, dilation = 1, padding = 0;
    struct dlt_geometry g = {.batch = (double)s->batch,
                             .in_channels = (double)s->in_channels / (double)s->groups,
                             .out_channels = (double)s->out_channels / (double)s->groups,
                             .groups = (double)s->groups,
                             .window = 1,
                             .plane = 1};

    for (int d = 0; d < dims; d++) {
        in *= (double)s->in_size[d];
        stride *= (double)s->stride[d];
        dilation *= (double)s->dilation[d];
        padding += (double)(s->padding[d][0] + s->padding[d][1]);
        g.window *= (double)s->kernel[d];
        g.plane *= (double)dlt_spatial_out(s, d);
    }
    g.in = dims == 2 ? sqrt(in) : pow(in, 1.0 / dims);
    g.out = dims == 2 ? sqrt(g.plane) : pow(g.plane, 1.0 / dims);
    g.kernel = dims == 2 ? sqrt(g.window) : pow(g.window, 1.0 / dims);
    g.stride = dims == 2 ? sqrt(stride) : pow(stride, 1.0 / dims);
    g.dilation = dims == 2 ? sqrt(dilation) : pow(dilation, 1.0 / dims);
    g.padding = padding / dims;
    return g;
}

static void channel_features(const struct dlt_geometry *g, const struct dlt_work *work,
                             struct dlt_numbers *f)
{
    static const double tiles[] = {16, 32, 64, 128};

    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++) {
        dlt_numbers_add(f, "q co", dlt_padding_waste(g->out_channels, tiles[t]));
        dlt_numbers_add(f, "q ci", dlt_padding_waste(g->in_channels, tiles[t]));
    }
    dlt_numbers_add(f, "q co 256", dlt_padding_waste(g->out_channels, 256));
    dlt_numbers_add(f, "q M 64", dlt_padding_waste(work->m, 64));
    dlt_numbers_add(f, "q M 128", dlt_padding_waste(work->m, 128));
    dlt_numbers_add(f, "q K 8", dlt_padding_waste(work->k, 8));
    dlt_numbers_add(f, "q K 32", dlt_padding_waste(work->k, 32));
    dlt_numbers_add(f, "q K 128", dlt_padding_waste(work->k, 128));
    dlt_numbers_add(f, "q co k k 8", dlt_padding_waste(g->out_channels * g->window, 8));
    dlt_numbers_add(f, "co % 4", fmod(g->out_channels, 4) == 0);
    dlt_numbers_add(f, "co % 8", fmod(g->out_channels, 8) == 0);
    dlt_numbers_add(f, "ci % 4", fmod(g->in_channels, 4) == 0);
    dlt_numbers_add(f, "ci % 8", fmod(g->in_channels, 8) == 0);
}

static void shape_features(const struct dlt_geometry *g, const struct dlt_work *work,
                           struct dlt_numbers *f)
{
    double odd_padding = fmod(g->padding, 2);

    for (int k = 1; k <= 7; k++)
        dlt_numbers_add(f, "k =", g->kernel == k);
    for (int s = 1; s <= 4; s++)
        dlt_numbers_add(f, "s =", g->stride == s);
    dlt_numbers_add(f, "odd padding", odd_padding);
    dlt_numbers_add(f, "k=1,s=1", g->kernel == 1 && g->stride == 1);
    dlt_numbers_add(f, "k=3,s=1", g->kernel == 3 && g->stride == 1);
    dlt_numbers_add(f, "k=5,s=1", g->kernel == 5 && g->stride == 1);
    dlt_numbers_add(f, "k=H,valid", g->kernel == g->in && g->padding == 0);
    dlt_numbers_add(f, "o=1", g->out == 1);
    dlt_numbers_add(f, "s>k", g->stride > g->kernel);
    dlt_numbers_add(f, "s=1 ln macs", g->stride == 1 ? log(fmax(work->macs, 1)) : 0);
    dlt_numbers_add(f, "q o 2", dlt_padding_waste(g->out, 2));
    dlt_numbers_add(f, "q o 4", dlt_padding_waste(g->out, 4));
    dlt_numbers_add(f, "groups > 1", g->groups > 1);
    dlt_numbers_add(f, "depthwise", g->groups > 1 && g->in_channels == 1);
    dlt_numbers_add(f, "ln groups", log(g->groups));
    dlt_numbers_add(f, "ln dilation", log(g->dilation));
}

/* Sizes of the transforms of FFT convolutions: of the whole image, and in tiles of 32 x 32. */
static void fft_features(const struct dlt_geometry *g, const struct dlt_work *work,
                         struct dlt_numbers *f)
{
    double padded = g->in + g->padding;
    double useful = fmax(33 - g->kernel, 1);
    double tiles = ceil(g->out / useful);
    double size = next_power_of_two(fmax(padded, g->out + g->kernel - 1));
    double first = g->stride == 1;
    double ln_macs = log(fmax(work->macs, 1));
    double tiled_macs =
        g->batch * tiles * tiles * 1024 * g->groups * g->in_channels * g->out_channels;
    double tiled_transforms = (g->batch * g->in_channels + g->batch * g->out_channels +
                               g->in_channels * g->out_channels) *
                              g->groups * tiles * tiles * 10240;

    dlt_numbers_add(f, "fft padded", log(next_power_of_two(padded + g->kernel - 1) / padded));
    dlt_numbers_add(f, "fft input", log(next_power_of_two(g->in + g->kernel - 1) / g->in));
    dlt_numbers_add(f, "q Hp r", dlt_padding_waste(padded, useful));
    dlt_numbers_add(f, "q o r", dlt_padding_waste(g->out, useful));
    dlt_numbers_add(f, "q H r", dlt_padding_waste(g->in, useful));
    dlt_numbers_add(f, "ln tiles", log(tiles));
    dlt_numbers_add(f, "ln n", log(size));
    dlt_numbers_add(f, "n <= 256", size <= 256);
    dlt_numbers_add(f, "s=1 ln n/Hp", first * log(size / padded));
    dlt_numbers_add(f, "s=1 q o r", first * dlt_padding_waste(g->out, useful));
    dlt_numbers_add(f, "tiled macs", log(tiled_macs + 1) - ln_macs);
    dlt_numbers_add(f, "tiled transforms", log(tiled_transforms) - ln_macs);
}

struct dlt_algorithm dlt_winograd(const struct dlt_geometry *g, double m)
{
    double side = m + g->kernel - 1;
    double tiles = ceil(g->out / m) * ceil(g->out / m) * g->batch;
    double points = side * side;

    return (struct dlt_algorithm){
        .macs = g->groups * tiles * points * g->in_channels * g->out_channels,
        .elements =
            2 * g->groups * points *
            (tiles * (g->in_channels + g->out_channels) + g->in_channels * g->out_channels)};
}

/* Half of the points by symmetry; 4 real products for a complex one. */
struct dlt_algorithm dlt_fourier(const struct dlt_geometry *g, bool tiled)
{
    double span = fmax(g->in + g->padding, g->out + g->kernel - 1);
    double side = tiled ? ceil(g->out / fmax(33 - g->kernel, 1)) : 1;
    double n = tiled ? 32 : next_power_of_two(span);
    double points = n * (n / 2 + 1), tiles = g->batch * side * side;

    return (struct dlt_algorithm){
        .macs = 4 * g->groups * tiles * points * g->in_channels * g->out_channels,
        .elements =
            4 * g->groups * points *
            (tiles * (g->in_channels + g->out_channels) + g->in_channels * g->out_channels)};
}

bool dlt_geometry_is_product(const struct dlt_geometry *g)
{
    return (g->kernel == 1 && g->stride == 1) || (g->kernel == g->in && g->padding == 0);
}

static double seconds_of(const struct dlt_algorithm *a, const struct dlt_device *device)
{
    double peak = device->peak_fp32 > 0 ? device->peak_fp32 : 1e13;
    double bandwidth = device->memory_bandwidth > 0 ? device->memory_bandwidth : 5e11;

    return 2 * a->macs / peak + 4 * a->elements / bandwidth;
}

/* What the algorithms that cuDNN chooses from would take at the device's peaks, against the direct
 * product. They need stride 1; elsewhere the direct product's own values stand for all. */
static void algorithm_features(const struct dlt_geometry *g, const struct dlt_work *work,
                               const struct dlt_device *device, struct dlt_numbers *f)
{
    struct dlt_algorithm direct = {.macs = work->batch * work->m * work->n * work->k,
                                   .elements = work->input + work->output + work->weights};
    const struct dlt_algorithm all[] = {dlt_winograd(g, 2), dlt_winograd(g, 4),
                                        dlt_fourier(g, false), dlt_fourier(g, true)};
    static const char *const names[] = {"winograd 2", "winograd 4", "fft", "fft tiled"};
    double first = g->stride == 1 && g->kernel > 1, least = seconds_of(&direct, device);
    double reference = least;

    for (size_t a = 0; a < sizeof all / sizeof *all; a++) {
        double seconds = seconds_of(&all[a], device);

        dlt_numbers_add(f, names[a], first * log(seconds / reference));
        dlt_numbers_add(f, names[a], first * log(all[a].elements / direct.elements));
        least = first > 0 ? fmin(least, seconds) : least;
    }
    dlt_numbers_add(f, "best algorithm", log(least / reference));
    dlt_numbers_add(f, "fft workspace", first * log(all[2].elements));
    dlt_numbers_add(f, "tiled workspace", first * log(all[3].elements));
}

/*
 * bare: a forward pass that nothing follows. TensorFlow's layout optimizer then leaves the
 * convolution in NHWC, where a plain product goes to cuBLAS as it is; anywhere else it runs in NCHW
 * through cuDNN, its weights turned first. Such a product takes about what the roofline says, which
 * may be a tenth of the cost model's time: both stand beside the flag.
 */
static void gemm_features(const struct dlt_geometry *g, const struct dlt_work *work,
                          const struct dlt_device *device, double bare, struct dlt_numbers *f)
{
    double plain = dlt_geometry_is_product(g), sms = device->sms > 0 ? device->sms : 1;
    double alone = bare * plain;
    double ln_cost = dlt_numbers_find(f, "ln cost"),
           ln_roofline = dlt_numbers_find(f, "ln roofline");
    static const double sides[][2] = {{128, 128}, {128, 64}, {64, 64}, {32, 32}};

    dlt_numbers_add(f, "bare", bare);
    dlt_numbers_add(f, "gemm", plain);
    dlt_numbers_add(f, "bare gemm", alone);
    dlt_numbers_add(f, "bare gemm ln M", alone * log(work->m));
    dlt_numbers_add(f, "bare gemm ln N", alone * log(work->n));
    dlt_numbers_add(f, "bare gemm ln K", alone * log(work->k));
    dlt_numbers_add(f, "bare gemm ln cost", alone * ln_cost);
    dlt_numbers_add(f, "bare gemm ln roofline", alone * ln_roofline);
    dlt_numbers_add(f, "bare gemm o=1", alone * (g->out == 1));
    dlt_numbers_add(f, "gemm ln M", plain * log(work->m));
    dlt_numbers_add(f, "gemm ln N", plain * log(work->n));
    dlt_numbers_add(f, "gemm ln K", plain * log(work->k));
    dlt_numbers_add(f, "gemm q K 8", plain * dlt_padding_waste(work->k, 8));
    for (size_t t = 0; t < sizeof sides / sizeof *sides; t++) {
        double tiles = ceil(work->m / sides[t][0]) * ceil(work->n / sides[t][1]);

        dlt_numbers_add(f, "waves", log(tiles / sms));
        dlt_numbers_add(f, "q waves", dlt_padding_waste(tiles, sms));
        dlt_numbers_add(f, "gemm q waves", plain * dlt_padding_waste(tiles, sms));
    }
}

void dlt_features_convolution(const struct dlt_record *record, const struct dlt_work *work,
                              const struct dlt_device *device, struct dlt_numbers *f)
{
    struct dlt_geometry g = dlt_geometry_of(record);
    double ln_padded_in = log(g.in + g.padding);

    dlt_numbers_add(f, "bias", (double)record->u.spatial.bias);
    dlt_numbers_add(f, "padded", g.padding > 0);
    dlt_numbers_add(f, "ln b", log(g.batch));
    dlt_numbers_add(f, "ln ci", log(g.in_channels));
    dlt_numbers_add(f, "ln co", log(g.out_channels));
    dlt_numbers_add(f, "ln macs", log(fmax(work->macs, 1)));
    dlt_numbers_add(f, "ln H", log(g.in));
    dlt_numbers_add(f, "ln Hp", ln_padded_in);
    dlt_numbers_add(f, "ln k", log(g.kernel));
    dlt_numbers_add(f, "ln s", log(g.stride));
    dlt_numbers_add(f, "ln o", log(fmax(g.out, 1)));
    dlt_numbers_add(f, "ln M", log(work->m));
    dlt_numbers_add(f, "ln K", log(work->k));
    dlt_numbers_add(f, "ln ci/co", log(g.in_channels / g.out_channels));
    channel_features(&g, work, f);
    shape_features(&g, work, f);
    fft_features(&g, work, f);
    algorithm_features(&g, work, device, f);
    gemm_features(&g, work, device,
                  record->pass == DLT_FORWARD && record->activation == DLT_FUNCTION_NONE &&
                      !record->u.spatial.bias,
                  f);
}

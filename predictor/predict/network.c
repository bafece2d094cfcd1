/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/network.h"

#include <math.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* The compiler vectorises these loops only when asked to, and those that compare floats only where
 * nobody looks at floating-point exceptions. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("O3", "no-trapping-math")
#endif

size_t dlt_network_parameters(const struct dlt_network *network)
{
    size_t total = 0;

    if (network->layers < 1 || network->layers > DLT_NETWORK_LAYERS ||
        network->width[network->layers] != 1)
        return 0;
    for (int l = 0; l <= network->layers; l++)
        if (network->width[l] < 1 || network->width[l] > DLT_NETWORK_WIDTH)
            return 0;
    for (int l = 0; l < network->layers; l++)
        total += (size_t)(network->width[l] + 1) * (size_t)network->width[l + 1];
    return total;
}

size_t dlt_network_weights(const struct dlt_network *network)
{
    size_t total = 0;

    for (int l = 0; l < network->layers; l++)
        total += (size_t)network->width[l] * (size_t)network->width[l + 1];
    return total;
}

size_t dlt_network_scales(const struct dlt_network *network)
{
    size_t total = 0;

    for (int l = 0; l < network->layers; l++)
        total += 2 * (size_t)network->width[l + 1];
    return total;
}

/* exp(x) = 2^n exp(r) with |r| <= ln(2)/2; a polynomial of degree 6 for exp(r). */
union bits {
    int32_t whole;
    float real;
};

DLT_VECTORISED void dlt_silu(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float t = -x[i] * 1.44269504f;
        float n, r, p;
        union bits power;

        /* In this order NaN is clamped too: no whole number could be made of it. */
        t = t < 126.0f ? t : 126.0f;
        t = t > -126.0f ? t : -126.0f;
        n = (t + 12582912.0f) - 12582912.0f;
        r = (t - n) * 0.693147181f;
        p = 1.0f + r * (1.0f + r * (0.5f + r * (0.166666667f +
                                                r * (0.0416666667f +
                                                     r * (0.00833333333f + r * 0.00138888889f)))));
        power.whole = ((int32_t)n + 127) << 23;
        x[i] = x[i] / (1.0f + p * power.real);
    }
}

#ifdef __x86_64__
/* As layer below for so many times eight outputs, whose sums stay in registers: a third of the
 * instructions that gcc 12 makes of the loops. */
__attribute__((target("avx2,fma"), always_inline)) static inline void
eights(int count, const float *in, int ins, size_t width, const int8_t *weight, const float *scale,
       float *out)
{
    __m256 sum[7];

    for (int b = 0; b < count; b++)
        sum[b] = _mm256_setzero_ps();
    for (int i = 0; i < ins; i++, weight += width) {
        __m256 x = _mm256_broadcast_ss(&in[i]);

#pragma GCC unroll 7
        for (int b = 0; b < count; b++) {
            __m128i bytes = _mm_loadl_epi64((const __m128i_u *)(const void *)(weight + 8 * b));

            sum[b] = _mm256_fmadd_ps(x, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)), sum[b]);
        }
    }
    for (int b = 0; b < count; b++)
        _mm256_storeu_ps(out + 8 * b, _mm256_fmadd_ps(_mm256_loadu_ps(scale + 8 * b), sum[b],
                                                      _mm256_loadu_ps(scale + width + 8 * b)));
}

/* Returns how many outputs it made: the rest are fewer than eight. */
__attribute__((target("avx2,fma"))) static size_t most_of_layer(const float *in, int ins,
                                                                size_t width, const int8_t *weight,
                                                                const float *scale, float *out)
{
    size_t o = 0;

    for (; o + 56 <= width; o += 56)
        eights(7, in, ins, width, weight + o, scale + o, out + o);
    for (; o + 8 <= width; o += 8)
        eights(1, in, ins, width, weight + o, scale + o, out + o);
    return o;
}
#endif

/* out = bias + step x (in * weights), from an output on; four inputs at a time, so that sums are
 * loaded less often. */
DLT_VECTORISED static void rest_of_layer(const float *restrict in, int ins, size_t width,
                                         size_t first, const int8_t *restrict weight,
                                         const float *restrict scale, float *restrict out)
{
    int i = 0;

    for (size_t o = first; o < width; o++)
        out[o] = 0;
    for (; i + 4 <= ins; i += 4, weight += 4 * width)
        for (size_t o = first; o < width; o++)
            out[o] += in[i] * (float)weight[o] + in[i + 1] * (float)weight[width + o] +
                      in[i + 2] * (float)weight[2 * width + o] +
                      in[i + 3] * (float)weight[3 * width + o];
    for (; i < ins; i++, weight += width)
        for (size_t o = first; o < width; o++)
            out[o] += in[i] * (float)weight[o];
    for (size_t o = first; o < width; o++)
        out[o] = scale[width + o] + scale[o] * out[o];
}

static void layer(const float *in, int ins, size_t width, const int8_t *weight, const float *scale,
                  float *out)
{
    size_t made = 0;

#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        made = most_of_layer(in, ins, width, weight, scale, out);
#endif
    if (made < width)
        rest_of_layer(in, ins, width, made, weight, scale, out);
}

float dlt_network_run(const struct dlt_network *network, const int8_t *weight, const float *scale,
                      const float *input)
{
    float buffer[2][DLT_NETWORK_WIDTH] = {{0}};
    const float *in = input;

    for (int l = 0; l < network->layers; l++) {
        float *out = buffer[l & 1];
        int ins = network->width[l], outs = network->width[l + 1];

        layer(in, ins, (size_t)outs, weight, scale, out);
        if (l + 1 < network->layers)
            dlt_silu(out, (size_t)outs);
        weight += (size_t)ins * (size_t)outs;
        scale += 2 * (size_t)outs;
        in = out;
    }
    return in[0];
}

/* One layer of ins x outs. */
static void round_layer(const float *parameters, size_t ins, size_t outs, int8_t *weight,
                        float *scale)
{
    for (size_t o = 0; o < outs; o++) {
        float most = 0, step;

        for (size_t i = 0; i < ins; i++)
            most = fmaxf(most, fabsf(parameters[i * outs + o]));
        step = most > 0 ? most / 127 : 1;
        for (size_t i = 0; i < ins; i++)
            weight[i * outs + o] = (int8_t)lrintf(parameters[i * outs + o] / step);
        scale[o] = step;
        scale[outs + o] = parameters[ins * outs + o];
    }
}

void dlt_network_round(const struct dlt_network *network, const float *parameters, int8_t *weight,
                       float *scale)
{
    for (int l = 0; l < network->layers; l++) {
        size_t ins = (size_t)network->width[l], outs = (size_t)network->width[l + 1];

        round_layer(parameters, ins, outs, weight, scale);
        parameters += (ins + 1) * outs;
        weight += ins * outs;
        scale += 2 * outs;
    }
}

void dlt_network_restore(const struct dlt_network *network, const int8_t *weight,
                         const float *scale, float *parameters)
{
    for (int l = 0; l < network->layers; l++) {
        size_t ins = (size_t)network->width[l], outs = (size_t)network->width[l + 1];

        for (size_t i = 0; i < ins * outs; i++)
            parameters[i] = (float)weight[i] * scale[i % outs];
        memcpy(parameters + ins * outs, scale + outs, outs * sizeof *parameters);
        parameters += (ins + 1) * outs;
        weight += ins * outs;
        scale += 2 * outs;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/network.h"

#include <string.h>

/* The compiler vectorises these loops only when asked to. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("O3")
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

/* exp(x) = 2^n exp(r) with |r| <= ln(2)/2; a polynomial of degree 6 for exp(r). */
DLT_VECTORISED void dlt_silu(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float t = -x[i] * 1.44269504f;
        float n, r, p, e;
        int32_t exponent;

        t = t > 126.0f ? 126.0f : t;
        t = t < -126.0f ? -126.0f : t;
        n = (t + 12582912.0f) - 12582912.0f;
        r = (t - n) * 0.693147181f;
        p = 1.0f + r * (1.0f + r * (0.5f + r * (0.166666667f +
                                                r * (0.0416666667f +
                                                     r * (0.00833333333f + r * 0.00138888889f)))));
        exponent = ((int32_t)n + 127) << 23;
        memcpy(&e, &exponent, sizeof e);
        x[i] = x[i] / (1.0f + p * e);
    }
}

/* out = bias + in * weights. */
DLT_VECTORISED static void layer(const float *restrict in, int ins, int outs,
                                 const float *restrict weights, float *restrict out)
{
    const float *bias = weights + (size_t)ins * (size_t)outs;

    for (int o = 0; o < outs; o++)
        out[o] = bias[o];
    for (int i = 0; i < ins; i++) {
        const float *row = weights + (size_t)i * (size_t)outs;

        for (int o = 0; o < outs; o++)
            out[o] += in[i] * row[o];
    }
}

float dlt_network_run(const struct dlt_network *network, const float *parameters,
                      const float *input)
{
    float buffer[2][DLT_NETWORK_WIDTH] = {{0}};
    const float *in = input;

    for (int l = 0; l < network->layers; l++) {
        float *out = buffer[l & 1];
        int ins = network->width[l], outs = network->width[l + 1];

        layer(in, ins, outs, parameters, out);
        if (l + 1 < network->layers)
            dlt_silu(out, (size_t)outs);
        parameters += (size_t)(ins + 1) * (size_t)outs;
        in = out;
    }
    return in[0];
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "device/device.h"
#include "graph/record.h"

/*
 * What dense matrix products gain over IEEE float32 with float32 sums, for devices of which only
 * the architecture is known. A row holds from its compute capability on. From the data sheets of
 * V100, T4, A100, A40, L40S, H100, B200 and RTX PRO 6000 (NVIDIA), MI100, MI210, MI300X (AMD; over
 * their float32 matrix rate).
 */
static const struct {
    const char *architecture;
    double from;
    double tf32, fp16, bf16;
} gains[] = {
    {"pascal", 6.0, 1, 2, 1},     {"pascal", 6.1, 1, 1, 1},     {"volta", 7.0, 1, 8, 1},
    {"turing", 7.5, 1, 8, 1},     {"ampere", 8.0, 8, 16, 16},   {"ampere", 8.6, 2, 4, 4},
    {"ada", 8.9, 2, 4, 4},        {"hopper", 9.0, 7.4, 15, 15}, {"blackwell", 10.0, 15, 30, 30},
    {"blackwell", 12.0, 2, 4, 4}, {"cdna", 0, 1, 4, 2},         {"cdna2", 0, 1, 4, 4},
    {"cdna3", 0, 4, 8, 8},
};

/* FLOP per cycle of one core: lanes x 2 x FMA units. bf16 and fp16 where the ISA multiplies them.
 */
static const struct {
    const char *isa;
    double fp32, fp16, bf16;
} cycles[] = {
    {"sse2", 8, 8, 8},      {"avx", 16, 16, 16},          {"avx2", 32, 32, 32},
    {"avx512", 64, 64, 64}, {"avx512_bf16", 64, 64, 128}, {"avx512_fp16", 64, 128, 128},
    {"amx", 64, 128, 2048}, {"neon", 16, 32, 16},         {"sve", 32, 64, 64},
};

enum rate { RATE_FP32, RATE_TF32, RATE_FP16, RATE_BF16, RATES };

static enum rate rate_of(int dtype, int math)
{
    if (dtype == DLT_FLOAT16)
        return RATE_FP16;
    if (dtype == DLT_BFLOAT16)
        return RATE_BF16;
    return math == DLT_TF32 ? RATE_TF32 : RATE_FP32;
}

static double gain_of(const struct dlt_device *device, enum rate rate)
{
    double gain = 1, from = -1;

    for (size_t i = 0; i < sizeof gains / sizeof *gains; i++) {
        const double gained[RATES] = {1, gains[i].tf32, gains[i].fp16, gains[i].bf16};

        if (strcmp(gains[i].architecture, device->architecture) == 0 && gains[i].from > from &&
            device->compute_capability >= gains[i].from) {
            from = gains[i].from;
            gain = gained[rate];
        }
    }
    return gain;
}

/* FLOP per cycle of a core, NaN for an ISA that the table lacks: the longest name in it that the
 * ISA's begins with ("avx512_core" is an avx512). */
static double cycle_flops(const char *isa, enum rate rate)
{
    size_t longest = 0;
    double found = NAN;

    for (size_t i = 0; i < sizeof cycles / sizeof *cycles; i++) {
        const double flops[RATES] = {cycles[i].fp32, cycles[i].fp32, cycles[i].fp16,
                                     cycles[i].bf16};
        size_t length = strlen(cycles[i].isa);

        if (length > longest && strncmp(cycles[i].isa, isa, length) == 0) {
            longest = length;
            found = flops[rate];
        }
    }
    return found;
}

static double cpu_peak(const struct dlt_device *device, enum rate rate, int threads)
{
    double used = threads > 0 && threads < device->cores ? threads : device->cores;
    double peak = used * device->clock_hz * cycle_flops(device->isa, rate);
    double gain = cycle_flops(device->isa, rate) / cycle_flops(device->isa, RATE_FP32);

    if (device->peak_fp32 > 0)
        peak = device->peak_fp32 * used / device->cores * (isfinite(gain) ? gain : 1);
    return peak > 0 ? peak : NAN;
}

double dlt_device_peak(const struct dlt_device *device, int dtype, int math, int threads)
{
    enum rate rate = rate_of(dtype, math);
    const double sheet[RATES] = {device->peak_fp32, device->peak_tf32, device->peak_fp16,
                                 device->peak_bf16};
    double base = device->peak_fp32;

    if (device->cores > 0)
        return cpu_peak(device, rate, threads);
    if (sheet[rate] > 0)
        return sheet[rate];
    if (!(base > 0))
        base = device->sms * device->cores_per_sm * 2 * device->clock_hz;
    return base > 0 ? base * gain_of(device, rate) : NAN;
}

/* Whether each of the letters and digits is in the name: a look before it is taken apart. */
static bool has_letters(const char *name, const char *letters)
{
    for (; *letters; letters++)
        if (!strchr(name, *letters) &&
            (dlt_text_is_digit(*letters) || !strchr(name, *letters - 'a' + 'A')))
            return false;
    return true;
}

double dlt_device_reach(const struct dlt_device *device, int dtype, int math, int threads)
{
    static const struct {
        const char *name, *letters;
        double hz;
    } defaults[] = {{"Tesla K40", "k40", 745e6}};
    const double issued = 128; /* cores that one multiprocessor keeps busy */
    double peak = dlt_device_peak(device, dtype, math, threads), share = 1;

    if (device->cores_per_sm > issued)
        share = issued / device->cores_per_sm;
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (device->clock_hz > defaults[i].hz && has_letters(device->name, defaults[i].letters) &&
            dlt_device_same_model(device->name, defaults[i].name))
            share *= defaults[i].hz / device->clock_hz;
    return peak * share;
}

double dlt_device_usable(const struct dlt_device *device)
{
    return device->usable_bytes > 0 ? device->usable_bytes : device->memory_bytes;
}

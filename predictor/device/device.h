/*
 * device.h - what is known about a device: the header of a measurements file, a catalogue entry.
 */
#ifndef DLT_DEVICE_DEVICE_H
#define DLT_DEVICE_DEVICE_H

#include "dltime.h"

/* Plain data without pointers, so that it can be stored and compared as it is. 0: unknown. */
struct dlt_device {
    char name[96]; /* as its driver spells it: "Tesla V100-SXM2-16GB" */
    char vendor[24];
    char architecture[24]; /* "volta" */
    char isa[24];          /* CPU: "avx512"; see dlt_device_this_cpu */
    char interconnect[24];
    double compute_capability;
    double sms; /* streaming multiprocessors; AMD: compute units */
    double cores_per_sm;
    double clock_hz;                        /* boost */
    double memory_bytes;                    /* data sheet */
    double usable_bytes;                    /* what programs get of it */
    double memory_bandwidth;                /* bytes/s, data sheet */
    double l2_bytes;                        /* CPU: last-level caches together */
    double peak_fp32;                       /* FLOP/s in IEEE float32 */
    double peak_tf32, peak_fp16, peak_bf16; /* FLOP/s of dense matrix products, float32 sums */
    double interconnect_bandwidth;          /* bytes/s */
    double sockets, cores;                  /* CPU */
};

/* Timing conventions must not be mixed: each includes other things. */
enum dlt_timing {
    DLT_TIMING_UNKNOWN,
    DLT_HOST_SYNCHRONOUS,
    DLT_EVENTS_SINGLE,
    DLT_EVENTS_BATCHED,
    DLT_TIMINGS
};
extern const char *const dlt_timing_names[DLT_TIMINGS];

struct dlt_software {
    char framework[48]; /* "pytorch 2.1.0" */
    char backend[48];   /* "cudnn 8.9.2", "onednn 2.6.3" */
    char cuda[16];      /* "12.1"; "" where there is none */
    enum dlt_timing timing;
};

/*
 * FLOP/s that matrix products can reach at the very most, by dtype and math mode (enum dlt_dtype,
 * enum dlt_math): the data sheet's figure; or SMs x cores x 2 x clock for float32, times what the
 * architecture's tensor cores make of it for the others; for a CPU with `threads` in use, cores x
 * clock x FLOP per cycle of the ISA. threads 0: all cores. NaN where the features are missing.
 */
double dlt_device_peak(const struct dlt_device *device, int dtype, int math, int threads);

/*
 * What of that peak programs reach alike on every architecture, for comparing devices: a Kepler
 * multiprocessor issues to 128 of its 192 cores unless instructions pair up (Kepler GK110
 * whitepaper: four schedulers of 32 lanes), and a Tesla K40 runs at 745 MHz unless somebody sets
 * its application clocks higher (BD-06902-001, board specification). Else as dlt_device_peak.
 */
double dlt_device_reach(const struct dlt_device *device, int dtype, int math, int threads);

/* Bytes that programs can allocate on a device: usable_bytes, or the data sheet's. 0: unknown. */
double dlt_device_usable(const struct dlt_device *device);

/*
 * Whether `name` (a driver's name, a GRES type, NVML's underscored form) means the device.
 * Letter case, separators, makers' and families' words (nvidia, tesla, geforce, quadro, gtx, rtx,
 * instinct, ...) do not count. The model ("v100", "gtx1080ti") has to be equal; a form (pcie, sxm4)
 * or a memory size only where both names give one. So "v100" means every V100 but no V100S, and
 * "a100_80gb_pcie" no A100-SXM4-80GB. A MIG slice ("1g.10gb") matches the same slice alone, never
 * a full card.
 */
bool dlt_device_matches(const char *device_name, const char *name);

/* Whether two names give the same model, whatever their forms and memory sizes: every A100 is one
 * family. */
bool dlt_device_same_model(const char *one, const char *other);

/*
 * The device that this process runs on, for a CPU benchmark: model name, ISA, sockets, cores,
 * clock, caches and memory of the whole machine, from /proc and /sys, whatever share of it the
 * process may use. ISA: sse2, avx, avx2, avx512, avx512_bf16, avx512_fp16, amx; neon, sve.
 */
void dlt_device_this_cpu(struct dlt_device *device);

#endif

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
    char isa[24];          /* CPU: "avx512" */
    char interconnect[24];
    double compute_capability;
    double sms;
    double cores_per_sm;
    double clock_hz;
    double memory_bytes;
    double memory_bandwidth;                /* bytes/s, data sheet */
    double l2_bytes;                        /* CPU: last-level cache */
    double peak_fp32;                       /* FLOP/s, outside matrix units */
    double peak_tf32, peak_fp16, peak_bf16; /* FLOP/s of the matrix units, dense */
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

/* FLOP/s that the device can reach for a dtype and math mode at the very most: the data sheet's
 * float32 peak, or SMs x cores x 2 x clock where that is missing; CPUs: cores x clock x SIMD width;
 * times the tensor-core factor of the architecture. NaN if the features are missing. */
double dlt_device_peak(const struct dlt_device *device, int dtype, int math, int threads);

/* Whether `name` (a driver's name, a GRES type, NVML's underscored form) means the device: equal
 * after lower-casing and dropping vendor words, brackets and separators, or equal in its model word
 * ("v100", "a100", "p100", "gtx1080ti"). */
bool dlt_device_matches(const char *device_name, const char *name);

/* The device that this process runs on, for a CPU benchmark: model name, ISA, sockets, cores,
 * clock, caches, memory, from /proc and /sys. */
void dlt_device_this_cpu(struct dlt_device *device);

#endif

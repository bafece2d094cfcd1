/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/members.h"

#include "measure/measurements.h"

#define FIELD(owner, field) .offset = offsetof(owner, field), .size = sizeof(((owner *)0)->field)
#define MIB                 1048576.0
#define GIB                 1073741824.0

#define TEXT(owner, label, field) .name = label, .type = DLT_MEMBER_TEXT, FIELD(owner, field)
#define REAL(owner, label, field, factor)                                                          \
    .name = label, .type = DLT_MEMBER_REAL, .scale = (factor), FIELD(owner, field)
#define NAME(owner, label, field, table, count)                                                    \
    .name = label, .type = DLT_MEMBER_NAME, .names = (table), .offset = offsetof(owner, field),    \
    .size = (count)
#define INT(owner, label, field)   .name = label, .type = DLT_MEMBER_INT, FIELD(owner, field)
#define INT64(owner, label, field) .name = label, .type = DLT_MEMBER_INT64, FIELD(owner, field)

#define D struct dlt_device
const struct dlt_member dlt_device_members[] = {
    {TEXT(D, "name", name)},
    {TEXT(D, "model", name)},
    {TEXT(D, "vendor", vendor)},
    {TEXT(D, "architecture", architecture)},
    {TEXT(D, "isa", isa)},
    {.name = "compute_capability", .type = DLT_MEMBER_VERSION, FIELD(D, compute_capability)},
    {REAL(D, "sms", sms, 1)},
    {REAL(D, "cores_per_sm", cores_per_sm, 1)},
    {REAL(D, "sockets", sockets, 1)},
    {REAL(D, "cores", cores, 1)},
    {REAL(D, "clock_mhz", clock_hz, 1e6)},
    {REAL(D, "memory_gib", memory_bytes, GIB)},
    {REAL(D, "usable_gib", usable_bytes, GIB)},
    {REAL(D, "memory_bandwidth_gbs", memory_bandwidth, 1e9)},
    {REAL(D, "l2_mib", l2_bytes, MIB)},
    {REAL(D, "peak_fp32_gflops", peak_fp32, 1e9)},
    {REAL(D, "peak_tf32_gflops", peak_tf32, 1e9)},
    {REAL(D, "peak_fp16_gflops", peak_fp16, 1e9)},
    {REAL(D, "peak_bf16_gflops", peak_bf16, 1e9)},
    {TEXT(D, "interconnect", interconnect)},
    {REAL(D, "interconnect_gbs", interconnect_bandwidth, 1e9)},
    {.name = NULL},
};
#undef D

#define S struct dlt_software
const struct dlt_member dlt_software_members[] = {
    {TEXT(S, "framework", framework)},
    {TEXT(S, "backend", backend)},
    {TEXT(S, "cuda", cuda)},
    {NAME(S, "timing", timing, dlt_timing_names, DLT_TIMINGS)},
    {.name = NULL},
};
#undef S

#define M struct dlt_measurement
const struct dlt_member dlt_row_members[] = {
    {NAME(M, "pass", record.pass, dlt_pass_names, DLT_PASSES), .required = true},
    {NAME(M, "dtype", record.dtype, dlt_dtype_names, DLT_DTYPES), .always = true},
    {NAME(M, "math", record.math, dlt_math_names, DLT_MATHS), .always = true},
    {NAME(M, "layout", record.layout, dlt_layout_names, DLT_LAYOUTS)},
    {NAME(M, "cache", record.cache, dlt_cache_names, DLT_CACHES)},
    {NAME(M, "activation", record.activation, dlt_function_names, DLT_FUNCTIONS), .always = true,
     .lenient = true},
    {NAME(M, "optimizer", record.optimizer, dlt_optimizer_names, DLT_OPTIMIZERS), .always = true},
    {INT(M, "threads", record.threads)},
    {REAL(M, "median_ms", median_s, 1e-3), .required = true},
    {REAL(M, "min_ms", min_s, 1e-3)},
    {REAL(M, "max_ms", max_s, 1e-3)},
    {REAL(M, "std_ms", std_s, 1e-3)},
    {INT(M, "repeats", repeats)},
    {TEXT(M, "algorithm", algorithm)},
    {REAL(M, "workspace_mib", workspace_bytes, MIB)},
    {REAL(M, "workspace_cap_mib", workspace_cap_bytes, MIB)},
    {REAL(M, "clock_mhz", clock_hz, 1e6)},
    {REAL(M, "temperature_c", temperature_c, 1), .signed_ = true},
    {REAL(M, "power_w", power_w, 1)},
    {.name = "disturbed", .type = DLT_MEMBER_BOOL, FIELD(M, disturbed)},
    {.name = NULL},
};
#undef M

#define R struct dlt_run
const struct dlt_member dlt_run_members[] = {
    {TEXT(R, "model", model), .required = true, .whole = true},
    {TEXT(R, "device", device)},
    {TEXT(R, "card", device)},
    {TEXT(R, "configuration", configuration)},
    {INT(R, "devices", devices), .always = true},
    {INT(R, "nodes", nodes), .always = true},
    {INT(R, "threads", threads)},
    {INT64(R, "batch", batch)},
    {INT64(R, "sequence", sequence)},
    {.name = "input", .type = DLT_MEMBER_SHAPE, .offset = offsetof(R, input), .size = 4},
    {TEXT(R, "variant", variant)},
    {TEXT(R, "precision", precision)},
    {NAME(R, "pass", pass, dlt_pass_names, DLT_PASSES), .always = true},
    {TEXT(R, "optimizer", optimizer)},
    {TEXT(R, "framework", framework)},
    {TEXT(R, "layout", layout)},
    {REAL(R, "forward_ms", forward_s, 1e-3)},
    {REAL(R, "backward_ms", backward_s, 1e-3)},
    {REAL(R, "step_ms", step_s, 1e-3)},
    {REAL(R, "std_ms", std_s, 1e-3)},
    {REAL(R, "elapsed_s", elapsed_s, 1)},
    {REAL(R, "throughput", throughput, 1)},
    {TEXT(R, "unit", unit)},
    {REAL(R, "memory_mib", memory_bytes, MIB)},
    {TEXT(R, "suspect", suspect)},
    {.name = NULL},
};
#undef R

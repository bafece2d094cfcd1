/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "../timer.h"
#include "onednn.h"

static int device_count(void)
{
    return (int)dnnl_engine_get_count(dnnl_cpu);
}

static void close_context(struct bench_context *context)
{
    if (!context)
        return;
    bench_release(context);
    bench_arena_close(&context->arena);
    if (context->attributes)
        dnnl_primitive_attr_destroy(context->attributes);
    if (context->stream)
        dnnl_stream_destroy(context->stream);
    if (context->engine)
        dnnl_engine_destroy(context->engine);
    bench_own_clear(&context->owned);
    free(context->noise);
    free(context);
}

static int make_engine(struct bench_context *context, struct dlt_error *error)
{
    if (bench_check(dnnl_engine_create(&context->engine, dnnl_cpu, 0), "engine", error) ||
        bench_check(dnnl_stream_create(&context->stream, context->engine, dnnl_stream_in_order),
                    "stream", error) ||
        bench_check(dnnl_primitive_attr_create(&context->attributes), "attributes", error) ||
        bench_check(
            dnnl_primitive_attr_set_scratchpad_mode(context->attributes, dnnl_scratchpad_mode_user),
            "attributes", error))
        return -1;
    return 0;
}

static int open_context(const struct bench_options *options, struct bench_context **context,
                        struct dlt_error *error)
{
    /* A CPU that does not tell is taken to have this much. */
    const double usual_cache = 32.0 * 1024 * 1024;
    struct bench_context *made;

    if (options->device != 0)
        return dlt_fail(error, "onednn has device 0 only: the CPU");
    made = calloc(1, sizeof *made);
    if (!made)
        return dlt_fail_memory(error);
    made->threads = options->threads;
    made->random = options->seed;
    dlt_device_this_cpu(&made->device);
    made->cache_bytes = made->device.l2_bytes > 0 ? made->device.l2_bytes : usual_cache;
    bench_parallel_pin(options->cpus, options->threads);
    made->noise = malloc(BENCH_NOISE * sizeof *made->noise);
    if (!made->noise) {
        close_context(made);
        return dlt_fail_memory(error);
    }
    for (size_t i = 0; i < BENCH_NOISE; i++)
        made->noise[i] = (float)(bench_random(made) >> 40) / 8388608.0f - 1.0f;
    if (bench_arena_open(&made->arena, (size_t)options->memory_bytes, options->touch, error) ||
        make_engine(made, error)) {
        close_context(made);
        return -1;
    }
    *context = made;
    return 0;
}

static void describe(struct bench_context *context, struct dlt_device *device,
                     struct dlt_software *software)
{
    const dnnl_version_t *version = dnnl_version();

    *device = context->device;
    memset(software, 0, sizeof *software);
    snprintf(software->framework, sizeof software->framework, "none");
    snprintf(software->backend, sizeof software->backend, "onednn %d.%d.%d", version->major,
             version->minor, version->patch);
    software->timing = DLT_HOST_SYNCHRONOUS;
}

static void print_info(struct bench_context *context, FILE *stream)
{
    static const struct {
        dnnl_cpu_isa_t isa;
        const char *name;
    } isas[] = {
        {dnnl_cpu_isa_avx512_core_amx, "AVX-512 with AMX"},
        {dnnl_cpu_isa_avx512_core_bf16, "AVX-512 with bfloat16"},
        {dnnl_cpu_isa_avx512_core_vnni, "AVX-512 with VNNI"},
        {dnnl_cpu_isa_avx512_core, "AVX-512"},
        {dnnl_cpu_isa_avx2, "AVX2"},
        {dnnl_cpu_isa_avx, "AVX"},
        {dnnl_cpu_isa_sse41, "SSE4.1"},
    };
    dnnl_cpu_isa_t effective = dnnl_get_effective_cpu_isa();
    const char *name = "unknown";

    (void)context;
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        if (isas[i].isa == effective) {
            name = isas[i].name;
            break;
        }
    }
    fprintf(stream, "    instructions used    %s\n", name);
    fprintf(stream, "    threads through      OpenMP\n");
}

static int set_mark(struct bench_context *context, int mark, struct dlt_error *error)
{
    (void)error;
    context->marks[mark] = bench_now();
    return 0;
}

static int between(struct bench_context *context, int from, int to, double *seconds,
                   struct dlt_error *error)
{
    (void)error;
    *seconds = context->marks[to] - context->marks[from];
    return 0;
}

static double memory(const struct bench_context *context)
{
    return (double)context->arena.used;
}

extern const struct dlbench_backend dlbench_backend;
const struct dlbench_backend dlbench_backend = {
    .version = DLBENCH_BACKEND_VERSION,
    .record = sizeof(struct dlt_record),
    .name = "onednn",
    .device_count = device_count,
    .open = open_context,
    .close = close_context,
    .describe = describe,
    .print_info = print_info,
    .supports = bench_supports,
    .tensor_create = bench_tensor_create,
    .view_create = bench_view_create,
    .layer_create = bench_layer_create,
    .layer_train = bench_layer_train,
    .loss_create = bench_loss_create,
    .loss_value = bench_loss_value,
    .layer_copies = bench_layer_copies,
    .run = bench_layer_run,
    .read = bench_layer_read,
    .mark = set_mark,
    .between = between,
    .memory = memory,
    .reset = bench_release,
    .map_create = bench_map_create,
    .parameter_create = bench_parameter_create,
    .plan = bench_planned,
    .plan_end = bench_planned_end,
};

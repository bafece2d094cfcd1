/* SPDX-License-Identifier: Apache-2.0 */

/* dlbench verify: small records of every kind that the backend runs, each pass, against the
 * reference. Odd sizes, so that blocked layouts have something to pad. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "command.h"
#include "load.h"
#include "sampler.h"
#include "verify.h"

static const struct option long_options[] = {
    {"backend", required_argument, NULL, 'b'},
    {"device", required_argument, NULL, 'd'},
    {"ops", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char help[] =
    "Usage: dlbench verify --backend NAME [--device N] [--ops LIST]\n"
    "Runs small operators of every kind and compares each pass with a reference in double\n"
    "precision. ERROR is the largest difference as a share of the array's largest value.\n"
    "  --ops LIST  only these kinds, with commas between them\n";

/* A record: its kind and the numbers of its fields, in the order of the kind's row. */
struct example {
    const char *kind, *shown;
    struct dlt_spatial s;
    struct dlt_matmul m;
    struct dlt_rowwise r;
    struct dlt_attention a;
    struct dlt_recurrent n;
};

#define SPATIAL(...) .s = {__VA_ARGS__}
#define SQUARE(x)                                                                                  \
    {                                                                                              \
        x, x, x                                                                                    \
    }
#define PAD(x)                                                                                     \
    {                                                                                              \
        {x, x}, {x, x},                                                                            \
        {                                                                                          \
            x, x                                                                                   \
        }                                                                                          \
    }

static const struct example examples[] = {
    {"conv2d", "3x3, padding 1, bias",
     SPATIAL(.batch = 2, .in_channels = 16, .out_channels = 32, .groups = 1, .bias = 1,
             .in_size = SQUARE(9), .kernel = SQUARE(3), .stride = SQUARE(1), .dilation = SQUARE(1),
             .padding = PAD(1))},
    {"conv2d", "5x5, stride 2, 6 to 10 channels",
     SPATIAL(.batch = 3, .in_channels = 6, .out_channels = 10, .groups = 1, .in_size = {11, 14, 1},
             .kernel = SQUARE(5), .stride = SQUARE(2), .dilation = SQUARE(1), .padding = PAD(2))},
    {"conv2d", "7x7, stride 2, 3 channels",
     SPATIAL(.batch = 2, .in_channels = 3, .out_channels = 16, .groups = 1, .bias = 1,
             .in_size = SQUARE(20), .kernel = SQUARE(7), .stride = SQUARE(2), .dilation = SQUARE(1),
             .padding = PAD(3))},
    {"conv2d", "1x1",
     SPATIAL(.batch = 4, .in_channels = 24, .out_channels = 40, .groups = 1, .in_size = SQUARE(7),
             .kernel = SQUARE(1), .stride = SQUARE(1), .dilation = SQUARE(1))},
    {"conv2d", "4 groups, dilation 2",
     SPATIAL(.batch = 2, .in_channels = 16, .out_channels = 32, .groups = 4, .bias = 1,
             .in_size = SQUARE(12), .kernel = SQUARE(3), .stride = SQUARE(1), .dilation = SQUARE(2),
             .padding = PAD(2))},
    {"conv2d", "depthwise",
     SPATIAL(.batch = 2, .in_channels = 20, .out_channels = 20, .groups = 20, .in_size = SQUARE(10),
             .kernel = SQUARE(3), .stride = SQUARE(2), .dilation = SQUARE(1), .padding = PAD(1))},
    {"conv2d", "padding after, as \"same\" makes it",
     SPATIAL(.batch = 2, .in_channels = 8, .out_channels = 8, .groups = 1, .in_size = SQUARE(10),
             .kernel = SQUARE(3), .stride = SQUARE(2), .dilation = SQUARE(1),
             .padding = {{0, 1}, {0, 1}, {0, 1}})},
    {"conv1d", "length 30",
     SPATIAL(.batch = 3, .in_channels = 8, .out_channels = 12, .groups = 1, .in_size = {30, 1, 1},
             .kernel = {5, 1, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .padding = {{2, 2}})},
    {"conv3d", "5x6x7",
     SPATIAL(.batch = 2, .in_channels = 4, .out_channels = 6, .groups = 1, .in_size = {5, 6, 7},
             .kernel = SQUARE(3), .stride = SQUARE(1), .dilation = SQUARE(1), .padding = PAD(1))},
    {"max_pool2d", "3x3, stride 2, padding 1",
     SPATIAL(.batch = 2, .in_channels = 20, .groups = 1, .in_size = SQUARE(11), .kernel = SQUARE(3),
             .stride = SQUARE(2), .dilation = SQUARE(1), .padding = PAD(1))},
    {"max_pool2d", "2x2",
     SPATIAL(.batch = 3, .in_channels = 6, .groups = 1, .in_size = SQUARE(10), .kernel = SQUARE(2),
             .stride = SQUARE(2), .dilation = SQUARE(1))},
    {"avg_pool2d", "3x3, stride 2, padding 1",
     SPATIAL(.batch = 2, .in_channels = 20, .groups = 1, .in_size = SQUARE(11), .kernel = SQUARE(3),
             .stride = SQUARE(2), .dilation = SQUARE(1), .padding = PAD(1))},
    {"avg_pool2d", "whole image",
     SPATIAL(.batch = 3, .in_channels = 32, .groups = 1, .in_size = SQUARE(7), .kernel = SQUARE(7),
             .stride = SQUARE(1), .dilation = SQUARE(1))},
    {"batch_norm", "20 channels",
     SPATIAL(.batch = 5, .in_channels = 20, .groups = 1, .training = 1, .in_size = SQUARE(9),
             .kernel = SQUARE(1), .stride = SQUARE(1), .dilation = SQUARE(1))},
    {"batch_norm", "64 channels",
     SPATIAL(.batch = 5, .in_channels = 64, .groups = 1, .training = 1, .in_size = SQUARE(6),
             .kernel = SQUARE(1), .stride = SQUARE(1), .dilation = SQUARE(1))},
    {"conv_transpose2d", "3x3, stride 2, padding 1",
     SPATIAL(.batch = 2, .in_channels = 4, .out_channels = 6, .groups = 1, .bias = 1,
             .in_size = SQUARE(5), .kernel = SQUARE(3), .stride = SQUARE(2), .dilation = SQUARE(1),
             .padding = PAD(1), .out_size = {10, 10, 1})},
    {"conv_transpose2d", "2x2, stride 2, 2 groups",
     SPATIAL(.batch = 2, .in_channels = 4, .out_channels = 8, .groups = 2, .in_size = SQUARE(4),
             .kernel = SQUARE(2), .stride = SQUARE(2), .dilation = SQUARE(1),
             .out_size = {8, 8, 1})},
    {"conv_transpose1d", "length 12",
     SPATIAL(.batch = 2, .in_channels = 3, .out_channels = 4, .groups = 1, .bias = 1,
             .in_size = {12, 1, 1}, .kernel = {4, 1, 1}, .stride = {2, 1, 1}, .dilation = {1, 1, 1},
             .padding = {{1, 1}}, .out_size = {24, 1, 1})},
    {"conv_transpose3d", "3x3x4",
     SPATIAL(.batch = 1, .in_channels = 2, .out_channels = 3, .groups = 1, .in_size = {3, 3, 4},
             .kernel = SQUARE(2), .stride = SQUARE(2), .dilation = SQUARE(1),
             .out_size = {6, 6, 8})},
    {"max_pool1d", "3, stride 2",
     SPATIAL(.batch = 2, .in_channels = 16, .groups = 1, .in_size = {15, 1, 1}, .kernel = {3, 1, 1},
             .stride = {2, 1, 1}, .dilation = {1, 1, 1})},
    {"avg_pool1d", "3, stride 2",
     SPATIAL(.batch = 2, .in_channels = 16, .groups = 1, .in_size = {15, 1, 1}, .kernel = {3, 1, 1},
             .stride = {2, 1, 1}, .dilation = {1, 1, 1})},
    {"max_pool3d", "2x2x2",
     SPATIAL(.batch = 2, .in_channels = 6, .groups = 1, .in_size = {4, 6, 8}, .kernel = SQUARE(2),
             .stride = SQUARE(2), .dilation = SQUARE(1))},
    {"avg_pool3d", "2x2x2",
     SPATIAL(.batch = 2, .in_channels = 6, .groups = 1, .in_size = {4, 6, 8}, .kernel = SQUARE(2),
             .stride = SQUARE(2), .dilation = SQUARE(1))},
    {"group_norm", "4 groups of 3 channels",
     SPATIAL(.batch = 2, .in_channels = 12, .groups = 4, .in_size = SQUARE(4), .kernel = SQUARE(1),
             .stride = SQUARE(1), .dilation = SQUARE(1))},
    {"dense", "bias", .m = {1, 17, 30, 50, 1}},
    {"dense", "one row", .m = {1, 1, 100, 64, 0}},
    {"bmm", "rectangular", .m = {6, 9, 17, 11, 0}},
    {"layer_norm", "48 columns", .r = {0, 1, 13, 48}},
    {"rms_norm", "32 columns", .r = {0, 1, 7, 32}},
    {"cross_entropy", "21 classes", .r = {0, 1, 13, 21}},
    {"reduction", "37 columns", .r = {0, 1, 13, 37}},
    {"upsample", "nearest, 4x4 to 8x8", .r = {DLT_NEAREST, 16, 6, 64}},
    {"upsample", "bilinear, 4x4 to 8x8", .r = {DLT_BILINEAR, 16, 6, 64}},
    {"embedding", "20 of 11 entries", .m = {1, 20, 9, 11, 0}},
    {"scaled_dot_product_attention", "4 heads", .a = {2, 4, 7, 9, 8, 0}},
    {"scaled_dot_product_attention", "causal", .a = {1, 2, 9, 9, 16, 1}},
    {"rnn", "length 5", .n = {3, 5, 6, 8, 8, 1, 0, 1}},
    {"rnn", "2 layers, bidirectional", .n = {2, 4, 6, 5, 5, 2, 1, 1}},
    {"gru", "length 5", .n = {3, 5, 6, 8, 8, 1, 0, 1}},
    {"gru", "2 layers, bidirectional", .n = {2, 4, 6, 5, 5, 2, 1, 1}},
    {"lstm", "length 5", .n = {3, 5, 6, 8, 8, 1, 0, 1}},
    {"lstm", "2 layers, bidirectional", .n = {2, 4, 6, 5, 5, 2, 1, 1}},
    {"softmax", "101 columns", .r = {0, 1, 13, 101}},
    {"elementwise", "relu", .r = {DLT_RELU, 1, 7, 129}},
    {"elementwise", "relu6", .r = {DLT_RELU6, 1, 7, 129}},
    {"elementwise", "gelu", .r = {DLT_GELU, 1, 7, 129}},
    {"elementwise", "sigmoid", .r = {DLT_SIGMOID, 1, 7, 129}},
    {"elementwise", "tanh", .r = {DLT_TANH, 1, 7, 129}},
    {"elementwise", "pow", .r = {DLT_POW, 1, 7, 129}},
    {"elementwise", "add", .r = {DLT_ADD, 2, 7, 129}},
    {"elementwise", "sub", .r = {DLT_SUB, 2, 7, 129}},
    {"elementwise", "mul", .r = {DLT_MUL, 2, 7, 129}},
    {"elementwise", "div", .r = {DLT_DIV, 2, 7, 129}},
    {"elementwise", "dropout", .r = {DLT_DROPOUT, 1, 7, 129}},
    {"elementwise", "silu", .r = {DLT_SILU, 1, 7, 129}},
    {"elementwise", "hardswish", .r = {DLT_HARDSWISH, 1, 7, 129}},
    {"elementwise", "hardsigmoid", .r = {DLT_HARDSIGMOID, 1, 7, 129}},
    {"elementwise", "hardtanh", .r = {DLT_HARDTANH, 1, 7, 129}},
    {"elementwise", "leaky_relu", .r = {DLT_LEAKY_RELU, 1, 7, 129}},
    {"elementwise", "elu", .r = {DLT_ELU, 1, 7, 129}},
    {"elementwise", "softplus", .r = {DLT_SOFTPLUS, 1, 7, 129}},
    {"elementwise", "mish", .r = {DLT_MISH, 1, 7, 129}},
    {"elementwise", "exp", .r = {DLT_EXP, 1, 7, 129}},
    {"elementwise", "log", .r = {DLT_LOG, 1, 7, 129}},
    {"elementwise", "sqrt", .r = {DLT_SQRT, 1, 7, 129}},
    {"elementwise", "erf", .r = {DLT_ERF, 1, 7, 129}},
    {"elementwise", "abs", .r = {DLT_ABS, 1, 7, 129}},
    {"elementwise", "maximum", .r = {DLT_MAXIMUM, 2, 7, 129}},
    {"elementwise", "copy", .r = {DLT_COPY, 1, 7, 129}},
    {"elementwise", "concat of 3", .r = {DLT_CONCAT, 3, 31, 40}},
    {"elementwise", "concat of 4, columns", .r = {DLT_CONCAT, 4, 2, 150}},
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

/* Element types and arithmetic that a backend may have. */
static const struct type {
    const char *name;
    enum dlt_dtype dtype;
    enum dlt_math math;
} types[] = {{"float32", DLT_FLOAT32, DLT_IEEE},
             {"tf32", DLT_FLOAT32, DLT_TF32},
             {"float16", DLT_FLOAT16, DLT_IEEE},
             {"bfloat16", DLT_BFLOAT16, DLT_IEEE}};
enum { TYPES = sizeof types / sizeof *types };

struct tally {
    int checked[TYPES], wrong, missing;
    bool lost; /* the device: what is left is not tried */
    double worst[TYPES];
};

static void print_one(const struct dlt_record *record, const struct type *type, const char *shown,
                      const char *algorithm, const char *difference, const char *verdict)
{
    printf("  %-28s %-15s %-8s %-36s %-22s %9s  %s\n", record->kind->name,
           dlt_pass_names[record->pass], type->name, shown, algorithm, difference, verdict);
}

static void check_type(const struct bench_session *session, const struct dlt_record *record,
                       const struct type *type, const char *shown, struct tally *tally)
{
    int at = (int)(type - types);
    struct dlt_error error;
    double difference = 0;
    char text[16];
    bool right;
    struct bench_choice choice;
    int status =
        bench_verify(session->backend, session->context, record, &difference, &choice, &error);

    if (status != BENCH_OK) {
        print_one(record, type, shown, "-", "-", error.text);
        tally->lost = status == BENCH_FAILED && !bench_session_answers(session);
        *(status == BENCH_UNSUPPORTED ? &tally->missing : &tally->wrong) += 1;
        return;
    }
    right = difference <= bench_verify_tolerance(record);
    tally->checked[at]++;
    tally->wrong += !right;
    /* Not a number stays the worst. */
    if (!(difference <= tally->worst[at]))
        tally->worst[at] = difference;
    snprintf(text, sizeof text, "%.1e", difference);
    print_one(record, type, shown, choice.algorithm[0] ? choice.algorithm : "-", text,
              right ? "ok" : "WRONG");
}

static void check_one(const struct bench_session *session, const struct dlt_record *record,
                      const char *shown, struct tally *tally)
{
    for (int i = 0; i < TYPES; i++) {
        struct dlt_record typed = *record;

        typed.dtype = types[i].dtype;
        typed.math = types[i].math;
        if (!tally->lost && session->backend->supports(session->context, &typed))
            check_type(session, &typed, &types[i], shown, tally);
    }
}

/* Whether a kind is in a list; NULL: every one is. */
static bool is_asked(const char *ops, const char *kind)
{
    size_t length = strlen(kind);

    if (!ops)
        return true;
    for (const char *at = ops; (at = strstr(at, kind)) != NULL; at += length)
        if ((at == ops || at[-1] == ',') && (at[length] == '\0' || at[length] == ','))
            return true;
    return false;
}

static void check_examples(const struct bench_session *session, const char *ops,
                           struct tally *tally)
{
    for (size_t i = 0; i < EXAMPLES; i++) {
        const struct example *e = &examples[i];
        struct dlt_record record = dlt_record_make(dlt_record_kind_find(e->kind));

        if (!is_asked(ops, e->kind))
            continue;
        if (record.kind->dims > 0)
            record.u.spatial = e->s;
        else if (e->m.n > 0)
            record.u.matmul = e->m;
        else if (e->a.batch > 0)
            record.u.attention = e->a;
        else if (e->n.batch > 0)
            record.u.recurrent = e->n;
        else
            record.u.rowwise = e->r;
        for (int layout = 0; layout < (record.kind->dims > 0 ? DLT_LAYOUTS : 1); layout++) {
            char shown[64];

            record.layout = (enum dlt_layout)layout;
            snprintf(shown, sizeof shown, "%s%s", e->shown, layout == DLT_NHWC ? ", nhwc" : "");
            for (int pass = DLT_FORWARD; pass <= DLT_BACKWARD; pass++) {
                record.pass = (enum dlt_pass)pass;
                check_one(session, &record, shown, tally);
            }
        }
    }
}

static void check_optimizers(const struct bench_session *session, struct tally *tally)
{
    for (int i = 0; i < DLT_OPTIMIZERS * DLT_IMPLEMENTATIONS; i++) {
        struct dlt_record record = dlt_record_make(dlt_record_kind_find("optimizer_update"));
        char shown[64];

        record.pass = DLT_UPDATE;
        record.optimizer = (enum dlt_optimizer)(i % DLT_OPTIMIZERS);
        record.u.update.elements = 10007;
        record.u.update.tensors = 3;
        record.u.update.implementation = i / DLT_OPTIMIZERS;
        snprintf(shown, sizeof shown, "%s, %s", dlt_optimizer_names[record.optimizer],
                 dlt_implementation_names[i / DLT_OPTIMIZERS]);
        check_one(session, &record, shown, tally);
    }
}

static void print_tally(const struct tally *tally)
{
    int checked = 0;

    for (int i = 0; i < TYPES; i++) {
        checked += tally->checked[i];
        if (tally->checked[i] > 0)
            printf("# %s: %d compared, largest error %.1e\n", types[i].name, tally->checked[i],
                   tally->worst[i]);
    }
    printf("# %d results compared, %d wrong", checked, tally->wrong);
    if (tally->missing > 0)
        printf(", %d without an implementation", tally->missing);
    printf("\n");
}

struct request {
    const char *backend, *ops;
    int64_t device;
};

static int take_option(int option, char *value, void *context)
{
    struct request *request = context;

    if (option == 'd')
        return command_whole("verify", "device", value, 0, 1023, &request->device);
    *(option == 'b' ? &request->backend : &request->ops) = value;
    return BENCH_DONE;
}

int dlbench_verify(int argc, char **argv)
{
    struct request request = {0};
    struct bench_session_options options = {.memory_bytes = 256 << 20, .seed = 1};
    struct bench_session session;
    struct tally tally = {.wrong = 0};
    struct dlt_error error;
    int status = command_options("verify", help, long_options, argc, argv, take_option, &request);
    const char *ops = request.ops;
    char threads[32];

    if (status >= 0)
        return status;
    if (ops && bench_sampler_check_ops(ops, &error))
        return bench_usage("verify", "--ops: %s", error.text);
    if (optind < argc)
        return bench_usage("verify", "\"%s\" is not an option", argv[optind]);
    if (!request.backend)
        return bench_usage("verify", "--backend is missing");
    options.backend = request.backend;
    options.device = (int)request.device;
    if (bench_session_open(&options, &session, &error)) {
        bench_session_close(&session);
        return bench_fail("verify", &error);
    }
    /* Whatever ends it, the lines so far are there. */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    printf("# dlbench %s, %s on %s%s\n", DLT_VERSION, session.software.backend, session.device.name,
           bench_threads_text(session.threads, threads));
    printf("# %-28s %-15s %-8s %-36s %-22s %9s\n", "OPERATOR", "PASS", "TYPE", "CONFIGURATION",
           "ALGORITHM", "ERROR");
    check_examples(&session, ops, &tally);
    if (is_asked(ops, "optimizer_update"))
        check_optimizers(&session, &tally);
    print_tally(&tally);
    bench_session_close(&session);
    if (tally.lost) {
        dlt_fail(&error,
                 "ended, as the device no longer answers this process; --ops checks what is "
                 "left");
        return bench_fail("verify", &error);
    }
    return tally.wrong ? BENCH_EXIT_FAILED : BENCH_DONE;
}

/*
 * backend.h - what dlbench asks of a backend: backend_onednn.so, backend_cuda12.so, ...
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A backend is a shared object that is opened at run time and exports one symbol,
 * `dlbench_backend`. It runs layers. A layer is one measurement record with its tensors and its
 * parameters, ready to run any pass: a single operator that is timed is a layer with tensors of its
 * own, and a network is layers that hand tensors to each other. Work is queued in order (a CUDA
 * stream; on a CPU it is simply done), and time is taken by marks in that queue (CUDA events; on a
 * CPU the monotonic clock), so that one timer serves both.
 *
 * Everything made in a context is freed by reset or close; there are no destroy functions for
 * single layers, so that memory can be one arena which is warm from the second sample on.
 * A context is used by one thread at a time.
 */
#ifndef DLBENCH_BACKEND_H
#define DLBENCH_BACKEND_H

#include <stdio.h>

#include "device/device.h"
#include "graph/record.h"

enum { DLBENCH_BACKEND_VERSION = 6, BENCH_OPERANDS = 64, BENCH_RANK = 8, BENCH_MARKS = 16 };

/* Outcomes of calls that take memory or depend on what the library behind the backend can do. All
 * but BENCH_OK fill the error. */
enum bench_status {
    BENCH_OK = 0,
    BENCH_FAILED = -1,     /* something broke */
    BENCH_NO_MEMORY = 1,   /* does not fit: skip this sample */
    BENCH_UNSUPPORTED = 2, /* the backend has no such operator */
};

/* The arrays that a layer has, in the canonical plain order (channels first, row-major). */
enum bench_role {
    BENCH_INPUT,  /* index: which operand */
    BENCH_WEIGHT, /* convolution [out][in / groups][window], dense [out][in], norms' scale */
    BENCH_BIAS, /* norms' shift; index of this and of the weight: which, where there are several */
    BENCH_OUTPUT,
    BENCH_MASK,  /* dropout: what each element is multiplied by */
    BENCH_STATE, /* index: which array of the optimizer's state */
    BENCH_INPUT_GRADIENT,
    BENCH_WEIGHT_GRADIENT,
    BENCH_BIAS_GRADIENT,
    BENCH_OUTPUT_GRADIENT,
    BENCH_ROLES
};

struct bench_context; /* the backend's own: a device, its queue, its memory */
struct bench_tensor;  /* value and gradient, in whatever layout suits the device */
struct bench_layer;
struct bench_plan;

struct bench_options {
    int device;          /* index among the backend's devices */
    const int *cpus;     /* CPUs to run on, one thread on each */
    int threads;         /* how many there are */
    double memory_bytes; /* what layers may take in all */
    bool find;           /* choose algorithms by measuring them, where the library can */
    bool touch; /* touch memory before its first use, so that no measurement pays for page faults */
    uint64_t seed;
};

struct bench_shape {
    int rank;
    int64_t dim[BENCH_RANK];
};

struct bench_layer_options {
    /* Sets of buffers that runs go through in turn; 0: as many as outgrow the caches. A layer with
     * given inputs has one. */
    int copies;
    /* The rest where inputs are given. */
    int axis;       /* concat, softmax: the dimension */
    const char *op; /* the graph's operator: a record may stand for several ("scale", "neg") */
    /* Elementwise functions: what the operands are broadcast to; reductions: the output's shape. */
    const struct bench_shape *output;
    unsigned reduced;          /* reductions: bit d is set where dimension d goes */
    struct bench_layer *share; /* whose weights it uses; NULL: its own */
    uint64_t constant;         /* bit i is set where input i needs no gradient */
};

/*
 * A tensor whose elements are another's in other places: element (i0, i1, ...) is element
 * start + sum over d of (table[d] ? table[d][i_d] : i_d * stride[d]) of the other one in row-major
 * order; where a table holds a negative number, zero.
 */
struct bench_map {
    struct bench_shape shape;
    int64_t start, stride[BENCH_RANK];
    const int64_t *table[BENCH_RANK]; /* NULL: regular */
    bool copy;                        /* has to have memory of its own */
};

/* How an optimizer moves the parameters. */
struct bench_training {
    enum dlt_optimizer optimizer;
    double learning_rate;
};

/* A device's state now; 0: unknown. */
struct bench_circumstances {
    double clock_hz, temperature_c, power_w;
    bool disturbed; /* it is throttled, or other processes run on it */
};

/* What a library chose for a pass; "" and 0 where there is nothing to choose. */
struct bench_choice {
    char algorithm[32];
    double workspace_bytes, workspace_cap_bytes; /* what it takes, and what it may take at most */
};

struct dlbench_backend {
    int version;      /* DLBENCH_BACKEND_VERSION */
    size_t record;    /* sizeof(struct dlt_record): both sides have to see the same one */
    const char *name; /* "onednn" */

    /* Devices that are here; 0 where the driver is missing. */
    int (*device_count)(void);
    int (*open)(const struct bench_options *options, struct bench_context **context,
                struct dlt_error *error);
    void (*close)(struct bench_context *context);
    /* The header of what is measured here. */
    void (*describe)(struct bench_context *context, struct dlt_device *device,
                     struct dlt_software *software);
    /* Lines "  name: value" about the device that only this backend knows, for `dlbench info`. */
    void (*print_info)(struct bench_context *context, FILE *stream);

    /* Whether a record (with its pass) can be run at all, memory apart. */
    bool (*supports)(struct bench_context *context, const struct dlt_record *record);

    /* A tensor with random values that no layer makes: an input of a network. */
    int (*tensor_create)(struct bench_context *context, const struct bench_shape *shape,
                         struct bench_tensor **tensor, struct dlt_error *error);
    /* A layer that gives the same elements another shape, as flatten does. */
    int (*view_create)(struct bench_context *context, struct bench_tensor *tensor,
                       const struct bench_shape *shape, struct bench_layer **layer,
                       struct bench_tensor **view, struct dlt_error *error);
    /*
     * A layer's forward pass. Parameters get random values of the size that keeps signals alive.
     * inputs: input_count tensors, or NULL: the layer has its own. output may be NULL.
     */
    int (*layer_create)(struct bench_context *context, const struct dlt_record *record,
                        const struct bench_layer_options *options, struct bench_tensor **inputs,
                        size_t input_count, struct bench_layer **layer,
                        struct bench_tensor **output, struct dlt_error *error);
    /*
     * Adds the backward passes and the optimizer. In a network: call it once every layer is
     * created, in reverse order, as gradients of a tensor with several readers add up.
     */
    int (*layer_train)(struct bench_layer *layer, bool data_gradient, bool weight_gradient,
                       const struct bench_training *training, struct dlt_error *error);
    /* Cross-entropy of scores [rows, classes] against random labels. Its forward pass computes the
     * loss and leaves the scores' gradient. */
    int (*loss_create)(struct bench_context *context, struct bench_tensor *scores,
                       struct bench_layer **layer, struct dlt_error *error);
    /* The last forward pass's mean loss; waits for the queue. */
    double (*loss_value)(struct bench_layer *layer);

    /* Buffer sets that the layer goes through, and whether they outgrow the caches. */
    int (*layer_copies)(const struct bench_layer *layer, bool *cold);
    /* Queues the pass so many times; BACKWARD is all gradients that layer_train asked for. */
    int (*run)(struct bench_layer *layer, enum dlt_pass pass, int64_t iterations,
               struct dlt_error *error);
    /* Reads (waits for the queue) `count` elements of the first buffer set; see enum bench_role. */
    int (*read)(struct bench_layer *layer, enum bench_role role, int index, double *values,
                size_t count, struct dlt_error *error);

    /* Puts a mark into the queue; 0 <= mark < BENCH_MARKS. */
    int (*mark)(struct bench_context *context, int mark, struct dlt_error *error);
    /* Seconds between two marks; waits until the second has been reached. */
    int (*between)(struct bench_context *context, int from, int to, double *seconds,
                   struct dlt_error *error);

    /* Bytes that layers and tensors hold now. */
    double (*memory)(const struct bench_context *context);
    /* Frees every layer and tensor. */
    void (*reset)(struct bench_context *context);

    /* The rest may be NULL. */

    /* Free bytes of a device's own memory; NULL: layers live in the host's memory and run on its
     * threads. */
    double (*device_memory)(int device);
    void (*circumstances)(struct bench_context *context, struct bench_circumstances *now);
    void (*choice)(const struct bench_layer *layer, enum dlt_pass pass,
                   struct bench_choice *choice);

    /* What networks need besides views: elements in other places (permute, slice, pad, gather), and
     * a parameter as a tensor. Without them such networks cannot be run. */
    int (*map_create)(struct bench_context *context, struct bench_tensor *tensor,
                      const struct bench_map *map, struct bench_layer **layer,
                      struct bench_tensor **mapped, struct dlt_error *error);
    int (*parameter_create)(struct bench_context *context, const struct bench_shape *shape,
                            struct bench_layer **layer, struct bench_tensor **tensor,
                            struct dlt_error *error);
    /* Its plan (plan.h), the one that was made last. While it is open layers and tensors get no
     * memory; plan_end gives it to them, the same to what is never alive together. Layers then run
     * in the order of a training step: forward in the order in which they were made, backward
     * against it, updates. */
    struct bench_plan *(*plan)(struct bench_context *context);
    int (*plan_end)(struct bench_context *context, struct dlt_error *error);
    /* Versions that `software` has no place for, the device's modes and who else uses it, in a few
     * words for a file's header; "": unknown. */
    void (*state)(struct bench_context *context, char *text, size_t size);
};

#endif

/*
 * onednn.h - the parts of the oneDNN backend (CPU, float32).
 *
 * A buffer is `copies` memories of one layout in the context's arena. A layer has a program for
 * each pass: the primitives and loops to execute, with their arguments for every copy. Primitive
 * descriptors, which differ between oneDNN releases, are made in descriptor.c alone.
 */
#ifndef DLBENCH_ONEDNN_H
#define DLBENCH_ONEDNN_H

#include <oneapi/dnnl/dnnl.h>

#include "backend.h"
#include "base/error.h"

enum { BENCH_STEPS = 80, BENCH_ARGUMENTS = BENCH_OPERANDS + 4, BENCH_STATES = 2 };

/* Memory from one mapping; given back all at once. */
struct bench_arena {
    char *base;
    size_t size, used;
    size_t touched; /* bytes whose pages are there; all above are written once before use */
};

/* Everything that has to be destroyed when the context is reset. */
struct bench_owned {
    void *object;
    void (*destroy)(void *object);
};

struct bench_context {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    struct dlt_device device;
    int threads;
    uint64_t random;    /* state of the generator */
    float *noise;       /* BENCH_NOISE values in [-1, 1) */
    double cache_bytes; /* last-level cache */
    double marks[BENCH_MARKS];
    struct bench_arena arena;
    struct bench_owned *owned;
    size_t owned_count, owned_room;
};

struct bench_buffer {
    dnnl_memory_desc_t md;
    int copies;
    dnnl_memory_t *memory; /* of each copy */
};

struct bench_tensor {
    struct bench_context *context;
    struct bench_shape shape;
    struct bench_buffer *value;
    struct bench_buffer *gradient; /* NULL until a layer's backward pass writes it */
};

/* One thing to execute: a primitive, or a loop of our own. */
struct bench_step {
    dnnl_primitive_t primitive;
    int count;             /* arguments of each copy */
    dnnl_exec_arg_t *args; /* [copies][count] */
    void (*call)(struct bench_layer *layer, int copy);
};

struct bench_program {
    struct bench_step step[BENCH_STEPS];
    int count;
    int next; /* copy that the next iteration uses */
};

/* A trained array: the optimizer walks all of them. */
struct bench_parameter {
    struct bench_buffer *value, *gradient, *state[BENCH_STATES];
};

struct bench_layer {
    struct bench_context *context;
    const char *name; /* for messages */
    struct dlt_record record;
    int copies, axis;
    bool cold;       /* the copies outgrow the caches */
    bool standalone; /* its tensors are its own: layouts are set up ahead of time */
    struct bench_tensor *input[BENCH_OPERANDS];
    int input_count;
    struct bench_tensor *output;
    struct bench_parameter weight, bias; /* value NULL: has none */
    struct bench_parameter *arrays;      /* optimizer_update: all of them */
    size_t array_count;
    struct bench_buffer *mean, *variance, *workspace, *mask;
    struct bench_buffer *converted; /* the input in the forward primitive's layout */
    dnnl_primitive_desc_t forward;  /* hint for the backward passes; owned by the context */
    bool is_view, is_loss;
    struct bench_program program[DLT_PASSES];
    struct bench_training training;
    int64_t updates;
    uint32_t dropout_seed;
    void *extra;    /* what one operator alone needs; owned by the context */
    int32_t *label; /* loss */
    double loss;
};

/* ---- arena.c: memory and what is destroyed with it ---- */
int bench_arena_open(struct bench_arena *arena, size_t size, bool touch, struct dlt_error *error);
void bench_arena_close(struct bench_arena *arena);
/* 64-byte aligned; NULL if it does not fit. */
void *bench_arena_take(struct bench_arena *arena, size_t size);
/* Puts the object on the context's list; destroys it at once if the list cannot grow (-1). */
int bench_own(struct bench_context *context, void *object, void (*destroy)(void *),
              struct dlt_error *error);
/* Zeroed memory that is freed with the context's next reset. */
void *bench_own_zeroed(struct bench_context *context, size_t count, size_t size,
                       struct dlt_error *error);
void bench_release(struct bench_context *context);

/* ---- memory.c: buffers and tensors ---- */
enum { BENCH_NOISE = 1 << 20 };
uint64_t bench_random(struct bench_context *context);
int bench_check(dnnl_status_t status, const char *what, struct dlt_error *error);
/* Row-major, channels-last, or whatever the primitive likes. */
dnnl_memory_desc_t bench_md_plain(int rank, const int64_t *dim);
dnnl_memory_desc_t bench_md_last(int rank, const int64_t *dim);
dnnl_memory_desc_t bench_md_any(int rank, const int64_t *dim);
/* Whether so many channels are whole blocks of the layouts that oneDNN chooses on this CPU. */
bool bench_fills_blocks(int64_t channels);
/* 0, or an enum bench_status. */
int bench_buffer_create(struct bench_context *context, const dnnl_memory_desc_t *md, int copies,
                        struct bench_buffer **buffer, struct dlt_error *error);
/* Random values in center +- spread, the same in every copy; a layout's padding stays zero. */
int bench_buffer_fill(struct bench_context *context, struct bench_buffer *buffer, float center,
                      float spread, struct dlt_error *error);
/* Copies the first copy over the others. */
void bench_buffer_spread(struct bench_buffer *buffer);
void *bench_buffer_data(const struct bench_buffer *buffer, int copy);
size_t bench_buffer_floats(const struct bench_buffer *buffer);
int bench_buffer_read(struct bench_context *context, struct bench_buffer *buffer, double *values,
                      size_t count, struct dlt_error *error);
/* from into to, every copy. */
int bench_convert_now(struct bench_context *context, struct bench_buffer *from,
                      struct bench_buffer *to, struct dlt_error *error);
int bench_tensor_make(struct bench_context *context, const struct bench_shape *shape,
                      const dnnl_memory_desc_t *md, int copies, struct bench_tensor **tensor,
                      struct dlt_error *error);
int bench_tensor_create(struct bench_context *context, const struct bench_shape *shape,
                        struct bench_tensor **tensor, struct dlt_error *error);
/* The same memory under another layout. */
int bench_buffer_alias(struct bench_context *context, const struct bench_buffer *buffer,
                       const dnnl_memory_desc_t *md, struct bench_buffer **alias,
                       struct dlt_error *error);

/* ---- program.c: steps ---- */
struct bench_argument {
    int index; /* DNNL_ARG_... */
    struct bench_buffer *buffer;
};
/* Adds a primitive. It takes pd; ends at the first argument whose index is 0. */
int bench_add(struct bench_layer *layer, enum dlt_pass pass, dnnl_primitive_desc_t pd,
              const struct bench_argument *arguments, struct dlt_error *error);
int bench_add_call(struct bench_layer *layer, enum dlt_pass pass,
                   void (*call)(struct bench_layer *layer, int copy), struct dlt_error *error);
/* Adds to = from (or to += from) in whatever layouts they have. */
int bench_add_copy(struct bench_layer *layer, enum dlt_pass pass, struct bench_buffer *from,
                   struct bench_buffer *to, bool accumulate, struct dlt_error *error);
/* *buffer in layout md: itself, or a copy. A standalone layer converts now, a network's layer each
 * time that the pass runs. */
int bench_convert(struct bench_layer *layer, enum dlt_pass pass, const dnnl_memory_desc_t *md,
                  struct bench_buffer **buffer, struct dlt_error *error);
/* Where a primitive that makes a gradient in layout md puts it; *gradient is the tensor's or the
 * parameter's, made here if it is missing. After the primitive is added, deliver adds what brings
 * it to its place. */
int bench_collect(struct bench_layer *layer, const dnnl_memory_desc_t *md,
                  const dnnl_memory_desc_t *home, struct bench_buffer **gradient,
                  struct bench_buffer **target, bool *accumulate, struct dlt_error *error);
int bench_deliver(struct bench_layer *layer, enum dlt_pass pass, struct bench_buffer *gradient,
                  struct bench_buffer *target, bool accumulate, struct dlt_error *error);
int bench_execute(struct bench_layer *layer, enum dlt_pass pass, int copy, struct dlt_error *error);
int bench_layer_run(struct bench_layer *layer, enum dlt_pass pass, int64_t iterations,
                    struct dlt_error *error);

/* ---- descriptor.c: primitive descriptors of the oneDNN at hand ---- */
int bench_pd_convolution(struct bench_context *context, enum dlt_pass pass,
                         const struct dlt_record *record, const dnnl_memory_desc_t *src,
                         const dnnl_memory_desc_t *weights, const dnnl_memory_desc_t *bias,
                         const dnnl_memory_desc_t *dst, dnnl_primitive_desc_t hint,
                         dnnl_primitive_desc_t *pd, struct dlt_error *error);
int bench_pd_inner_product(struct bench_context *context, enum dlt_pass pass,
                           const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *weights,
                           const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *dst,
                           dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd,
                           struct dlt_error *error);
int bench_pd_matmul(struct bench_context *context, const dnnl_memory_desc_t *a,
                    const dnnl_memory_desc_t *b, const dnnl_memory_desc_t *c,
                    dnnl_primitive_desc_t *pd, struct dlt_error *error);
int bench_pd_pool(struct bench_context *context, enum dlt_pass pass,
                  const struct dlt_record *record, bool average, const dnnl_memory_desc_t *src,
                  const dnnl_memory_desc_t *dst, dnnl_primitive_desc_t hint,
                  dnnl_primitive_desc_t *pd, struct dlt_error *error);
int bench_pd_batch_norm(struct bench_context *context, enum dlt_pass pass, bool training,
                        const dnnl_memory_desc_t *data, dnnl_primitive_desc_t hint,
                        dnnl_primitive_desc_t *pd, struct dlt_error *error);
int bench_pd_layer_norm(struct bench_context *context, enum dlt_pass pass,
                        const dnnl_memory_desc_t *data, dnnl_primitive_desc_t hint,
                        dnnl_primitive_desc_t *pd, struct dlt_error *error);
int bench_pd_softmax(struct bench_context *context, enum dlt_pass pass,
                     const dnnl_memory_desc_t *data, int axis, dnnl_primitive_desc_t hint,
                     dnnl_primitive_desc_t *pd, struct dlt_error *error);
int bench_pd_eltwise(struct bench_context *context, enum dlt_pass pass, enum dlt_function function,
                     const dnnl_memory_desc_t *data, dnnl_primitive_desc_t hint,
                     dnnl_primitive_desc_t *pd, struct dlt_error *error);
int bench_pd_binary(struct bench_context *context, enum dlt_function function,
                    const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b,
                    const dnnl_memory_desc_t *c, dnnl_primitive_desc_t *pd,
                    struct dlt_error *error);
int bench_pd_concat(struct bench_context *context, int count, const dnnl_memory_desc_t *src,
                    int axis, const dnnl_memory_desc_t *dst, dnnl_primitive_desc_t *pd,
                    struct dlt_error *error);
int bench_pd_reorder(struct bench_context *context, const dnnl_memory_desc_t *from,
                     const dnnl_memory_desc_t *to, bool accumulate, dnnl_primitive_desc_t *pd,
                     struct dlt_error *error);

/* ---- layer.c ---- */
bool bench_supports(struct bench_context *context, const struct dlt_record *record);
int bench_layer_create(struct bench_context *context, const struct dlt_record *record,
                       const struct bench_layer_options *options, struct bench_tensor **inputs,
                       size_t input_count, struct bench_layer **layer, struct bench_tensor **output,
                       struct dlt_error *error);
int bench_layer_train(struct bench_layer *layer, bool data_gradient, bool weight_gradient,
                      const struct bench_training *training, struct dlt_error *error);
int bench_layer_copies(const struct bench_layer *layer, bool *cold);
int bench_layer_read(struct bench_layer *layer, enum bench_role role, int index, double *values,
                     size_t count, struct dlt_error *error);

/* What layers that only look at tensors share: a zeroed layer. */
int bench_layer_new(struct bench_context *context, const char *name, struct bench_layer **layer,
                    struct dlt_error *error);

/* One row of the table of operators. forward sets up the output and the forward pass; backward the
 * passes for the gradients asked for. Own tensors are made by the operator where the layer is
 * standalone (input_count == 0). */
struct bench_operator {
    const char *kind;
    int (*forward)(struct bench_layer *layer, struct dlt_error *error);
    int (*backward)(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error);
    bool weights; /* has parameters */
    bool split;   /* their gradient is a pass of its own */
};
/* Where the layer is standalone, makes input `index` in layout md with random values. *buffer is
 * the input in that layout; NULL where only the making is wanted. */
int bench_input(struct bench_layer *layer, int index, const dnnl_memory_desc_t *md,
                struct bench_buffer **buffer, struct dlt_error *error);
/* The output in layout md; shaped by the record, or like the first input where inputs are given. */
int bench_output(struct bench_layer *layer, const dnnl_memory_desc_t *md, struct dlt_error *error);
/* A parameter of the record's shape with values center +- spread. */
int bench_parameter(struct bench_layer *layer, const dnnl_memory_desc_t *md, float center,
                    float spread, struct bench_parameter *parameter, struct dlt_error *error);
/* Keeps the descriptor until the reset. */
int bench_own_descriptor(struct bench_context *context, dnnl_primitive_desc_t pd,
                         struct dlt_error *error);
dnnl_memory_desc_t bench_query(dnnl_primitive_desc_t pd, dnnl_query_t what);
/* The input's gradient of a primitive that makes it in layout md; adds the primitive. */
int bench_add_input_gradient(struct bench_layer *layer, enum dlt_pass pass, int index,
                             dnnl_primitive_desc_t pd, int argument,
                             const struct bench_argument *others, struct dlt_error *error);
/* The output's gradient; made with random values where nothing has written it. */
int bench_output_gradient(struct bench_layer *layer, const dnnl_memory_desc_t *md,
                          struct bench_buffer **gradient, struct dlt_error *error);

/* oneDNN 2.6 writes past its scratchpad in the weights' gradient of strided 1 x 1 convolutions
 * whose input is stored channels last and has a part of a block of channels. */
bool bench_breaks_channels_last(const struct dlt_record *record);
int bench_weighted_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_weighted_backward(struct bench_layer *layer, bool data, bool weight,
                            struct dlt_error *error);
int bench_bmm_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_bmm_backward(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error);
int bench_pool_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_pool_backward(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error);
int bench_batch_norm_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_layer_norm_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_norm_backward(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error);
int bench_softmax_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_softmax_backward(struct bench_layer *layer, bool data, bool weight,
                           struct dlt_error *error);
int bench_elementwise_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_elementwise_backward(struct bench_layer *layer, bool data, bool weight,
                               struct dlt_error *error);

int bench_binary_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_binary_backward(struct bench_layer *layer, struct dlt_error *error);
int bench_concat_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_concat_backward(struct bench_layer *layer, struct dlt_error *error);
int bench_dropout_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_dropout_backward(struct bench_layer *layer, struct dlt_error *error);
/* Row-major where the layer is by itself; in a network, as the first input comes. */
dnnl_memory_desc_t bench_given_layout(const struct bench_layer *layer);
/* Input 0 (layer->converted) and the output in one layout. */
int bench_one_input(struct bench_layer *layer, const dnnl_memory_desc_t *md,
                    struct dlt_error *error);
int bench_view_create(struct bench_context *context, struct bench_tensor *tensor,
                      const struct bench_shape *shape, struct bench_layer **layer,
                      struct bench_tensor **view, struct dlt_error *error);
int bench_view_backward(struct bench_layer *layer, struct dlt_error *error);

/* ---- update.c, loss.c ---- */
int bench_update_arrays(struct bench_layer *layer, struct dlt_error *error);
int bench_update_layer(struct bench_layer *layer, struct dlt_error *error);
int bench_loss_create(struct bench_context *context, struct bench_tensor *scores,
                      struct bench_layer **layer, struct dlt_error *error);
double bench_loss_value(struct bench_layer *layer);

/* ---- parallel.c: our own loops, on the threads that oneDNN uses ---- */
/* Calls body(data, from, to) on each thread for its share of [0, count), whole multiples of grain.
 */
void bench_parallel(int threads, size_t count, size_t grain,
                    void (*body)(void *data, size_t from, size_t to), void *data);
/* Sets the number of threads and binds each to its CPU. */
void bench_parallel_pin(const int *cpus, int threads);

#endif

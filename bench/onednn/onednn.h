/*
 * onednn.h - the parts of the oneDNN backend (CPU; float32, and bfloat16 where the CPU has it).
 *
 * A buffer is `copies` memories of one layout in the context's arena. A layer has a program for
 * each pass: the primitives and loops to execute, with their arguments for every copy. Primitive
 * descriptors are made in descriptor.c alone, in the words of oneDNN 3 (see onednn2.h).
 */
#ifndef DLBENCH_ONEDNN_H
#define DLBENCH_ONEDNN_H

#include "backend_parts.h"
#include "base/error.h"
#include "onednn/onednn2.h"
#include "plan.h"

enum { BENCH_ARGUMENTS = BENCH_OPERANDS + 16, BENCH_STATES = 2 };

/* Memory from one mapping; given back all at once. */
struct bench_arena {
    char *base;
    size_t size, used;
    size_t touched; /* bytes whose pages are there; all above are written once before use */
};

struct bench_buffer {
    struct bench_context *context;
    bench_md md;
    int copies;
    dnnl_memory_t *memory;     /* of each copy */
    struct bench_buffer *root; /* whose bytes it shows; itself mostly */
    size_t offset;             /* into them */
    struct bench_extent extent;
    /* Of a root. */
    char **data; /* of each copy; NULL until a plan places it */
    size_t size;
};

struct bench_context {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t attributes; /* of every primitive: scratchpads are buffers */
    struct dlt_device device;
    int threads;
    uint64_t random;    /* state of the generator */
    float *noise;       /* BENCH_NOISE values in [-1, 1) */
    double cache_bytes; /* last-level cache */
    double marks[BENCH_MARKS];
    struct bench_arena arena;
    struct bench_owned owned;
    struct bench_plan plan;
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
    void (*call)(struct bench_layer *layer, void *data, int copy);
    void *data;
};

struct bench_program {
    struct bench_step *step;
    int count, room;
    int next; /* copy that the next iteration uses */
};

/* A trained array: the optimizer walks all of them. */
struct bench_parameter {
    struct bench_buffer *value, *gradient, *state[BENCH_STATES];
};

struct bench_layer {
    struct bench_context *context;
    const char *name;                      /* for messages */
    const struct bench_operator *operator; /* NULL: views, losses, updates */
    struct dlt_record record;
    struct bench_layer_options options;
    struct bench_shape output_shape; /* what options.output points to */
    dnnl_data_type_t type;           /* of its tensors */
    int copies, axis, order;
    bool cold;       /* the copies outgrow the caches */
    bool standalone; /* its tensors are its own: layouts are set up ahead of time */
    struct bench_tensor *input[BENCH_OPERANDS];
    int input_count;
    struct bench_tensor *output;
    struct bench_parameter weight, bias; /* value NULL: has none */
    struct bench_parameter *arrays;      /* optimizer_update, recurrent layers: all of them */
    size_t array_count;
    struct bench_buffer *mean, *variance, *workspace, *mask;
    struct bench_buffer *converted; /* the input in the forward primitive's layout */
    struct bench_buffer **kept;     /* what else backward reads of what forward wrote */
    int kept_count;
    dnnl_primitive_desc_t forward; /* hint for the backward passes; owned by the context */
    /* Backward of a layer that is not in the table of operators; NULL: has none. */
    int (*backward)(struct bench_layer *layer, struct dlt_error *error);
    struct bench_program program[DLT_PASSES];
    struct bench_training training;
    int64_t updates;
    uint32_t dropout_seed;
    void *extra; /* what one operator alone needs; owned by the context */
    double loss;
};

/* ---- arena.c: memory and what is destroyed with it ---- */
int bench_arena_open(struct bench_arena *arena, size_t size, bool touch, struct dlt_error *error);
void bench_arena_close(struct bench_arena *arena);
/* Bytes that an array takes: an odd multiple of a cache line. SIZE_MAX where they do not fit. */
size_t bench_arena_round(size_t size);
/* 64-byte aligned; NULL if it does not fit. */
void *bench_arena_take(struct bench_arena *arena, size_t size);
void bench_release(struct bench_context *context);

/* ---- layout.c: memory descriptors; those that are made here are freed with the context's reset.
 * NULL: what was asked for cannot be described, which the primitive that gets it reports ---- */
bench_md bench_md_strided(struct bench_context *context, dnnl_data_type_t type, int rank,
                          const int64_t *dim, const int64_t *strides);
/* Row-major, channels-last, or whatever the primitive likes. */
bench_md bench_md_plain(struct bench_context *context, dnnl_data_type_t type, int rank,
                        const int64_t *dim);
bench_md bench_md_last(struct bench_context *context, dnnl_data_type_t type, int rank,
                       const int64_t *dim);
bench_md bench_md_any(struct bench_context *context, dnnl_data_type_t type, int rank,
                      const int64_t *dim);
/* A part of an array over the same memory; NULL where it does not start at a whole block. */
bench_md bench_md_part(struct bench_context *context, bench_md md, const int64_t *dim,
                       const int64_t *offsets);
/* The same shape and type row-major. */
bench_md bench_md_flat(struct bench_context *context, bench_md md);
/* A primitive's descriptor of an argument. */
bench_md bench_query(struct bench_context *context, dnnl_primitive_desc_t pd, dnnl_query_t what);
/* The same of the index-th of several. */
bench_md bench_query_at(struct bench_context *context, dnnl_primitive_desc_t pd, dnnl_query_t what,
                        int index);
int bench_md_rank(bench_md md);
const int64_t *bench_md_dims(bench_md md);
dnnl_data_type_t bench_md_type(bench_md md);
size_t bench_md_size(bench_md md);     /* bytes */
size_t bench_md_elements(bench_md md); /* of the logical array */
bool bench_md_equal(bench_md a, bench_md b);
/* Whether blocks carry more than the array. */
bool bench_md_padded(bench_md md);
/* Whether no memory lies between its elements but a layout's padding. */
bool bench_md_dense(bench_md md);
/* The strides of a layout without blocks; false: it has blocks. */
bool bench_md_strides(bench_md md, int64_t strides[DNNL_MAX_NDIMS]);
/* The block of a layout with one inner block and without padding: its dimension and size. */
bool bench_md_block(bench_md md, int64_t strides[DNNL_MAX_NDIMS], int *dimension, int64_t *size);
/* Whether so many channels are whole blocks of the layouts that oneDNN chooses on this CPU. */
bool bench_fills_blocks(int64_t channels);

/* ---- memory.c: buffers and tensors ---- */
enum { BENCH_NOISE = 1 << 20 };
uint64_t bench_random(struct bench_context *context);
int bench_check(dnnl_status_t status, const char *what, struct dlt_error *error);
/* 0, or an enum bench_status. */
int bench_buffer_create(struct bench_context *context, bench_md md, int copies,
                        struct bench_buffer **buffer, struct dlt_error *error);
/* The same memory under another layout, from `offset` bytes on. */
int bench_buffer_alias(struct bench_context *context, struct bench_buffer *buffer, bench_md md,
                       size_t offset, struct bench_buffer **alias, struct dlt_error *error);
/* Gives a planned buffer memory of its own for the whole step. */
int bench_buffer_place(struct bench_buffer *buffer, struct dlt_error *error);
/* Tells the memory objects where the data is. */
int bench_buffer_bind(struct bench_buffer *buffer, struct dlt_error *error);
/* Random values in center +- spread, the same in every copy; a layout's padding stays zero. */
int bench_buffer_fill(struct bench_context *context, struct bench_buffer *buffer, float center,
                      float spread, struct dlt_error *error);
/* Copies the first copy over the others. */
void bench_buffer_spread(struct bench_buffer *buffer);
void *bench_buffer_data(const struct bench_buffer *buffer, int copy);
/* Elements of the memory, a layout's padding included. */
size_t bench_buffer_floats(const struct bench_buffer *buffer);
int bench_buffer_read(struct bench_context *context, struct bench_buffer *buffer, double *values,
                      size_t count, struct dlt_error *error);
/* from into to, every copy. */
int bench_convert_now(struct bench_context *context, struct bench_buffer *from,
                      struct bench_buffer *to, struct dlt_error *error);
int bench_tensor_make(struct bench_context *context, const struct bench_shape *shape, bench_md md,
                      int copies, struct bench_tensor **tensor, struct dlt_error *error);
int bench_tensor_create(struct bench_context *context, const struct bench_shape *shape,
                        struct bench_tensor **tensor, struct dlt_error *error);

/* ---- planned.c: memory from a plan ---- */
struct bench_plan *bench_planned(struct bench_context *context);
int bench_planned_end(struct bench_context *context, struct dlt_error *error);
/* The buffer is read or written in this pass of the layer. */
void bench_use(const struct bench_layer *layer, enum dlt_pass pass, struct bench_buffer *buffer);

/* ---- program.c: steps ---- */
struct bench_argument {
    int index; /* DNNL_ARG_... */
    struct bench_buffer *buffer;
};
/* Adds a primitive; pd stays the caller's. Arguments end at the first whose index is 0. */
int bench_add(struct bench_layer *layer, enum dlt_pass pass, dnnl_primitive_desc_t pd,
              const struct bench_argument *arguments, struct dlt_error *error);
/* Adds a loop; buffers: all that it reads or writes, ended by NULL. */
int bench_add_loop(struct bench_layer *layer, enum dlt_pass pass,
                   void (*call)(struct bench_layer *layer, void *data, int copy), void *data,
                   struct bench_buffer *const *buffers, struct dlt_error *error);
/* Adds to = from (or to += from) in whatever layouts they have. */
int bench_add_copy(struct bench_layer *layer, enum dlt_pass pass, struct bench_buffer *from,
                   struct bench_buffer *to, bool accumulate, struct dlt_error *error);
/* Adds buffer = 0. */
int bench_add_zero(struct bench_layer *layer, enum dlt_pass pass, struct bench_buffer *buffer,
                   struct dlt_error *error);
/* *buffer in layout md: itself, or a copy. A standalone layer converts now, a network's layer each
 * time that the pass runs. */
int bench_convert(struct bench_layer *layer, enum dlt_pass pass, bench_md md,
                  struct bench_buffer **buffer, struct dlt_error *error);
/* Where a primitive that makes a gradient in layout md puts it; *gradient is the tensor's or the
 * parameter's, made here if it is missing. After the primitive is added, deliver adds what brings
 * it to its place. */
int bench_collect(struct bench_layer *layer, bench_md md, bench_md home,
                  struct bench_buffer **gradient, struct bench_buffer **target, bool *accumulate,
                  struct dlt_error *error);
int bench_deliver(struct bench_layer *layer, enum dlt_pass pass, struct bench_buffer *gradient,
                  struct bench_buffer *target, bool accumulate, struct dlt_error *error);
/* A gradient in the tensor's layout to which a loop adds: made and set to zero, or what is there.
 * md: the row-major layout that the loop works in; *target is in it, deliver brings it home. */
int bench_execute(struct bench_layer *layer, enum dlt_pass pass, int copy, struct dlt_error *error);
int bench_layer_run(struct bench_layer *layer, enum dlt_pass pass, int64_t iterations,
                    struct dlt_error *error);

/* ---- descriptor.c: primitive descriptors ---- */
int bench_pd_convolution(struct bench_context *context, enum dlt_pass pass,
                         const struct dlt_record *record, bool transposed, bench_md src,
                         bench_md weights, bench_md bias, bench_md dst, dnnl_primitive_desc_t hint,
                         dnnl_primitive_desc_t *pd, struct dlt_error *error);
int bench_pd_inner_product(struct bench_context *context, enum dlt_pass pass, bench_md src,
                           bench_md weights, bench_md bias, bench_md dst,
                           dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd,
                           struct dlt_error *error);
/* scale: what the product is multiplied by. */
int bench_pd_matmul(struct bench_context *context, bench_md a, bench_md b, bench_md c, float scale,
                    dnnl_primitive_desc_t *pd, struct dlt_error *error);
int bench_pd_pool(struct bench_context *context, enum dlt_pass pass,
                  const struct dlt_record *record, bool average, bench_md src, bench_md dst,
                  dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd, struct dlt_error *error);
int bench_pd_batch_norm(struct bench_context *context, enum dlt_pass pass, bool training,
                        bench_md data, dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd,
                        struct dlt_error *error);
int bench_pd_layer_norm(struct bench_context *context, enum dlt_pass pass, bench_md data,
                        dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd,
                        struct dlt_error *error);
int bench_pd_softmax(struct bench_context *context, enum dlt_pass pass, bool logarithm,
                     bench_md data, int axis, dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd,
                     struct dlt_error *error);
/* Whether oneDNN takes the function's derivative from the output. */
bool bench_eltwise_keeps_output(enum dlt_function function);
int bench_pd_eltwise(struct bench_context *context, enum dlt_pass pass, enum dlt_function function,
                     bench_md data, dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd,
                     struct dlt_error *error);
int bench_pd_binary(struct bench_context *context, enum dlt_function function, bench_md a,
                    bench_md b, bench_md c, dnnl_primitive_desc_t *pd, struct dlt_error *error);
int bench_pd_concat(struct bench_context *context, int count, const bench_md *src, int axis,
                    dnnl_primitive_desc_t *pd, struct dlt_error *error);
int bench_pd_resampling(struct bench_context *context, enum dlt_pass pass, bool linear,
                        bench_md src, bench_md dst, dnnl_primitive_desc_t hint,
                        dnnl_primitive_desc_t *pd, struct dlt_error *error);
int bench_pd_reorder(struct bench_context *context, bench_md from, bench_md to, bool accumulate,
                     dnnl_primitive_desc_t *pd, struct dlt_error *error);

/* Layouts of one layer of a recurrent network, and of their gradients. */
struct bench_rnn {
    bool bidirectional;
    bench_md src, iter, weights, weights_iter, bias, dst; /* iter: the states */
};
int bench_pd_rnn(struct bench_context *context, const char *kind, const struct bench_rnn *values,
                 const struct bench_rnn *gradients, dnnl_primitive_desc_t hint,
                 dnnl_primitive_desc_t *pd, struct dlt_error *error);

/* ---- nest.c: loops of our own over arrays of any layout without padding ---- */
enum { BENCH_NEST = 6, BENCH_NEST_RANK = BENCH_RANK + 2 };

/* Operands over one index space; where an operand does not have a dimension its stride is 0. */
struct bench_nest {
    int rank, operands;
    int64_t size[BENCH_NEST_RANK];
    int64_t stride[BENCH_NEST][BENCH_NEST_RANK];
    int split; /* the dimension that threads share */
};
/* The innermost loop: `count` elements of each operand, `step` apart. */
typedef void bench_row(void *data, int64_t count, float *const *at, const int64_t *step);

/*
 * Over the index space of md[0]; the others have the same shape, aligned at the last dimension, or
 * 1 in some dimensions. summed: operands (bits) to which elements are added where their stride is
 * 0, so that threads must not share such a dimension. Returns -1 where the layouts have blocks that
 * differ.
 */
int bench_nest_make(struct bench_nest *nest, const bench_md *md, int operands, unsigned summed);
void bench_nest_run(int threads, const struct bench_nest *nest, float *const *base, bench_row *row,
                    void *data);

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

/* ---- parts.c: what operators are made of ---- */
/* What layers that only look at tensors share: a zeroed layer. */
int bench_layer_new(struct bench_context *context, const char *name, struct bench_layer **layer,
                    struct dlt_error *error);

/* One row of the table of operators. forward sets up the output and the forward pass; backward the
 * passes for the gradients asked for. Own tensors are made by the operator where the layer is
 * standalone. */
struct bench_operator {
    const char *kind;
    int (*forward)(struct bench_layer *layer, struct dlt_error *error);
    int (*backward)(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error);
    bool weights;       /* has parameters */
    bool split;         /* their gradient is a pass of its own */
    bool half;          /* runs in bfloat16 */
    enum dlt_pass pass; /* the backward pass that is not split */
};
/* Where the layer is standalone, makes input `index` in layout md with random values. *buffer is
 * the input in that layout; NULL where only the making is wanted. */
int bench_input(struct bench_layer *layer, int index, bench_md md, struct bench_buffer **buffer,
                struct dlt_error *error);
/* The output in layout md. */
int bench_output(struct bench_layer *layer, bench_md md, struct dlt_error *error);
/* A parameter of the record's shape with values center +- spread. */
int bench_parameter(struct bench_layer *layer, bench_md md, float center, float spread,
                    struct bench_parameter *parameter, struct dlt_error *error);
/* Its gradient, for primitives and loops that write it whole: made where it is missing. */
int bench_parameter_gradient(struct bench_layer *layer, struct bench_parameter *parameter,
                             struct dlt_error *error);
/* Keeps the descriptor until the reset. */
int bench_own_descriptor(struct bench_context *context, dnnl_primitive_desc_t pd,
                         struct dlt_error *error);
/* The input's gradient of a primitive that makes it in layout md; adds the primitive. */
int bench_add_input_gradient(struct bench_layer *layer, enum dlt_pass pass, int index,
                             dnnl_primitive_desc_t pd, int argument,
                             const struct bench_argument *others, struct dlt_error *error);
/* The output's gradient; made with random values where nothing has written it. Converted to md. */
int bench_output_gradient(struct bench_layer *layer, enum dlt_pass pass, bench_md md,
                          struct bench_buffer **gradient, struct dlt_error *error);
/* The record's shape of an array, or, where inputs are given, the input's own; row-major. */
bench_md bench_role_md(const struct bench_layer *layer, enum bench_role role, int index);
/* Row-major where the layer is by itself; in a network, as the first input comes. */
bench_md bench_given_layout(const struct bench_layer *layer);
/* Input 0 (layer->converted) and the output in one layout. */
int bench_one_input(struct bench_layer *layer, bench_md md, struct dlt_error *error);
/* The function that a loop runs: layer->options.op or the record's. */
bool bench_is_op(const struct bench_layer *layer, const char *op);

/* ---- the operators ---- */
typedef int bench_forward(struct bench_layer *layer, struct dlt_error *error);
typedef int bench_backward(struct bench_layer *layer, bool data, bool weight,
                           struct dlt_error *error);

/* oneDNN 2.6 writes past its scratchpad in the weights' gradient of strided 1 x 1 convolutions
 * whose input is stored channels last and has a part of a block of channels. */
bool bench_breaks_channels_last(const struct dlt_record *record);
bench_forward bench_weighted_forward, bench_bmm_forward, bench_pool_forward;
bench_forward bench_batch_norm_forward, bench_layer_norm_forward, bench_softmax_forward;
bench_forward bench_group_norm_forward, bench_rms_norm_forward, bench_elementwise_forward;
bench_forward bench_embedding_forward, bench_attention_forward, bench_recurrent_forward;
bench_forward bench_reduction_forward, bench_upsample_forward, bench_cross_entropy_forward;
bench_backward bench_weighted_backward, bench_bmm_backward, bench_pool_backward;
bench_backward bench_norm_backward, bench_softmax_backward, bench_group_norm_backward;
bench_backward bench_rms_norm_backward, bench_elementwise_backward, bench_embedding_backward;
bench_backward bench_attention_backward, bench_recurrent_backward, bench_reduction_backward;
bench_backward bench_upsample_backward, bench_cross_entropy_backward;

/* Families of elementwise functions. */
bench_forward bench_unary_forward, bench_binary_forward, bench_concat_forward;
bench_forward bench_dropout_forward, bench_function_forward;
typedef int bench_function_back(struct bench_layer *layer, struct dlt_error *error);
bench_function_back bench_unary_backward, bench_binary_backward, bench_concat_backward;
bench_function_back bench_dropout_backward, bench_function_backward;

int bench_view_create(struct bench_context *context, struct bench_tensor *tensor,
                      const struct bench_shape *shape, struct bench_layer **layer,
                      struct bench_tensor **view, struct dlt_error *error);
int bench_map_create(struct bench_context *context, struct bench_tensor *tensor,
                     const struct bench_map *map, struct bench_layer **layer,
                     struct bench_tensor **mapped, struct dlt_error *error);

/* ---- update.c, loss.c ---- */
int bench_update_arrays(struct bench_layer *layer, struct dlt_error *error);
int bench_update_layer(struct bench_layer *layer, struct dlt_error *error);
int bench_parameter_create(struct bench_context *context, const struct bench_shape *shape,
                           struct bench_layer **layer, struct bench_tensor **tensor,
                           struct dlt_error *error);
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

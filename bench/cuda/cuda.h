/*
 * cuda.h - the parts of the CUDA backend: cuDNN, cublasLt and the kernels of kernels.cu.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A buffer is `copies` arrays of one type and layout in the context's arena on the device. A layer
 * has a program for each pass: kernels and library calls with the buffers that they work on, which
 * are queued on the context's one stream. Pointers are looked up when a program runs.
 */
#ifndef DLBENCH_CUDA_H
#define DLBENCH_CUDA_H

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include "arguments.h"
#include "backend_parts.h"
#include "base/error.h"
#include "plan.h"

#if defined CUDNN_VERSION && CUDNN_VERSION < 90800
#error "cuDNN 9.8 or later is needed: graph.c describes devices to it"
#endif

enum { BENCH_STATES = 2, BENCH_POINTERS = 8, BENCH_ARGUMENT_BYTES = 512 };

/* Element types of buffers; the first three as enum dlt_dtype, and in kernels' names. */
enum bench_type { BENCH_F32, BENCH_F16, BENCH_B16, BENCH_I32, BENCH_U8, BENCH_TYPES };

/* The device's memory: one allocation, given back all at once. */
struct bench_arena {
    char *base;
    size_t size, used;
};

struct bench_nvml;

struct bench_context {
    int device;
    int processors;       /* streaming multiprocessors */
    int capability;       /* 75: compute capability 7.5 */
    double cache_bytes;   /* L2 */
    double workspace_cap; /* bytes that a library call may take besides its arrays */
    bool find;            /* convolutions' algorithms by measuring, not by heuristics */
    struct dlt_device description;
    cudaStream_t stream;
    cudaEvent_t mark[BENCH_MARKS];
    cudnnHandle_t cudnn;
    cublasLtHandle_t blas;
    cudaLibrary_t kernels;
    struct bench_nvml *nvml; /* NULL: not there */
    struct bench_arena arena;
    char *workspace; /* of library calls, one after the other */
    size_t workspace_size;
    struct bench_plan plan;
    struct bench_owned owned; /* what is on the host */
    uint32_t random;          /* seeds given out */
};

struct bench_buffer {
    enum bench_type type;
    bool last;                /* channels last: dimension 1 is the innermost */
    struct bench_shape shape; /* in the canonical order, whatever the layout */
    size_t count, pitch;      /* elements; bytes from one copy to the next */
    int copies;
    struct bench_buffer *root; /* whose memory it shows; itself mostly */
    size_t offset;             /* bytes into it */
    /* Of a root. */
    struct bench_arena *arena;
    char *data; /* NULL until a plan places it */
    struct bench_extent extent;
};

struct bench_tensor {
    struct bench_context *context;
    struct bench_shape shape;
    struct bench_buffer *value;
    struct bench_buffer *gradient; /* NULL until a layer's backward pass writes it */
};

/* One thing to queue. */
struct bench_step {
    int (*run)(struct bench_context *context, const void *what, int copy, struct dlt_error *error);
    const void *what;
    struct bench_step *next;
};

struct bench_program {
    struct bench_step *first, *latest;
    int next; /* copy that the next iteration uses */
    struct bench_choice choice;
};

/* A trained array. */
struct bench_parameter {
    struct bench_buffer *value, *gradient, *state[BENCH_STATES];
};

struct bench_operator;

struct bench_layer {
    struct bench_context *context;
    const char *name; /* for messages */
    const struct bench_operator *operator;
    struct dlt_record record;
    struct bench_layer_options options;
    enum bench_type type; /* of inputs, outputs and weights */
    bool last;            /* their layout */
    int copies, order;
    bool cold;       /* the copies outgrow the cache */
    bool standalone; /* its tensors are its own */
    struct bench_tensor *input[BENCH_OPERANDS];
    struct bench_buffer *value[BENCH_OPERANDS]; /* inputs in this layer's type and layout */
    int input_count;
    struct bench_tensor *output;
    struct bench_parameter weight, bias; /* value NULL: has none */
    struct bench_parameter *arrays;      /* optimizer_update: all of them */
    size_t array_count;
    struct bench_buffer *mean, *inverse, *mask, *index, *kept;
    void *extra; /* what one operator alone needs; owned by the context */
    struct bench_program program[DLT_PASSES];
    struct bench_training training;
    struct bench_buffer *loss;
};

/* ---- status.c: every call of a library goes through one of these ---- */
/* BENCH_OK, or another enum bench_status with a sentence that says what was being done. */
int bench_cuda(cudaError_t status, const char *what, struct dlt_error *error);
int bench_cudnn(cudnnStatus_t status, const char *what, struct dlt_error *error);
int bench_cublas(cublasStatus_t status, const char *what, struct dlt_error *error);

/* ---- nvml.c: the driver's management library, where it is there ---- */
struct bench_nvml *bench_nvml_open(const char *bus_id);
void bench_nvml_close(struct bench_nvml *nvml);
void bench_nvml_read(struct bench_nvml *nvml, struct bench_circumstances *now);
/* Adds the driver, ECC, MIG, MPS, processes and what holds the clocks to a text, as
 * "driver 580.95.05, ECC on, MIG off, 1 process". */
void bench_nvml_state(struct bench_nvml *nvml, char *text, size_t size);
/* Lines "    name: value" about ECC, MIG, MPS, clocks and other processes. */
void bench_nvml_print(struct bench_nvml *nvml, FILE *stream);

/* ---- memory.c: buffers and tensors ---- */
size_t bench_type_size(enum bench_type type);
/* NULL if it does not fit. */
char *bench_arena_take(struct bench_arena *arena, size_t size);
void bench_release(struct bench_context *context);
int bench_buffer_create(struct bench_context *context, enum bench_type type, bool last,
                        const struct bench_shape *shape, int copies, struct bench_buffer **buffer,
                        struct dlt_error *error);
/* Gives a planned buffer memory of its own for the whole training. */
int bench_buffer_place(struct bench_buffer *buffer, struct dlt_error *error);
/* The same memory in another shape, from `offset` bytes on. */
int bench_buffer_alias(struct bench_context *context, const struct bench_buffer *buffer,
                       const struct bench_shape *shape, size_t offset, struct bench_buffer **alias,
                       struct dlt_error *error);
/* Random values in center +- spread, the same in every copy. */
int bench_buffer_fill(struct bench_context *context, struct bench_buffer *buffer, float center,
                      float spread, struct dlt_error *error);
/* Random whole numbers below `classes`. */
int bench_buffer_labels(struct bench_context *context, struct bench_buffer *buffer, int64_t classes,
                        struct dlt_error *error);
/* Values from the host, into every copy. */
int bench_buffer_write(struct bench_context *context, struct bench_buffer *buffer,
                       const void *values, struct dlt_error *error);
/* Copies the first copy over the others. */
int bench_buffer_spread(struct bench_context *context, struct bench_buffer *buffer,
                        struct dlt_error *error);
/* Of the first copy, in canonical order; waits for the queue. */
int bench_buffer_read(struct bench_context *context, const struct bench_buffer *buffer,
                      double *values, size_t count, struct dlt_error *error);
void *bench_buffer_data(const struct bench_buffer *buffer, int copy);
/* Makes sure that the workspace of library calls has that size. */
int bench_workspace(struct bench_context *context, size_t size, struct dlt_error *error);
int bench_tensor_make(struct bench_context *context, enum bench_type type, bool last,
                      const struct bench_shape *shape, int copies, struct bench_tensor **tensor,
                      struct dlt_error *error);
int bench_tensor_create(struct bench_context *context, const struct bench_shape *shape,
                        struct bench_tensor **tensor, struct dlt_error *error);

/* ---- kernel.c ---- */
/* A kernel's pointer argument. */
struct bench_pointer {
    size_t offset; /* in the struct of arguments */
    const struct bench_buffer *buffer;
};
struct bench_call {
    const char *kernel;   /* without the type */
    enum bench_type type; /* BENCH_TYPES: the kernel has none */
    unsigned grid[3], block;
    const void *arguments;
    size_t size;
    struct bench_pointer pointer[BENCH_POINTERS]; /* ends at the first NULL buffer */
};
#define BENCH_ARGUMENTS(a) .arguments = &(a), .size = sizeof(a)
#define BENCH_POINTER(a, field, array)                                                             \
    {                                                                                              \
        offsetof(__typeof__(a), field), (array)                                                    \
    }
/* Blocks for so many elements of work that is spread over any grid. */
unsigned bench_blocks(const struct bench_context *context, long long count);
/* Threads for a row of so many elements that one block walks. */
unsigned bench_row_block(long long columns);
/* Blocks for so many rows that are walked one by one. */
unsigned bench_row_blocks(long long rows);
int bench_kernels_open(struct bench_context *context, struct dlt_error *error);
void bench_kernels_close(struct bench_context *context);
/* A call whose kernel has been looked up, kept by the context until its reset. The arguments may be
 * changed between runs; `what` is the launch, so that it can be a step of a program. */
struct bench_launch;
int bench_launch_make(struct bench_context *context, const struct bench_call *call,
                      struct bench_launch **launch, struct dlt_error *error);
void *bench_launch_arguments(struct bench_launch *launch);
int bench_launch_run(struct bench_context *context, const void *what, int copy,
                     struct dlt_error *error);
/* Queues it now, with the buffers' copy. */
int bench_call_now(struct bench_context *context, const struct bench_call *call, int copy,
                   struct dlt_error *error);
int bench_add_call(struct bench_layer *layer, enum dlt_pass pass, const struct bench_call *call,
                   struct dlt_error *error);

/* ---- planned.c: memory from a plan ---- */
struct bench_plan *bench_planned(struct bench_context *context);
int bench_planned_end(struct bench_context *context, struct dlt_error *error);
/* The buffer is read or written in this pass of the layer; NULL: nothing. */
void bench_use(const struct bench_layer *layer, enum dlt_pass pass,
               const struct bench_buffer *buffer);

/* ---- program.c: steps ---- */
/* All buffers that a step reads or writes; NULL among them is nothing. */
struct bench_uses {
    size_t count;
    const struct bench_buffer *const *buffer;
};
#define BENCH_USES(...)                                                                            \
    ((struct bench_uses){sizeof((const struct bench_buffer *[]){__VA_ARGS__}) /                    \
                             sizeof(struct bench_buffer *),                                        \
                         (const struct bench_buffer *const[]){__VA_ARGS__}})
/* what: kept by the context until its reset. */
int bench_add(struct bench_layer *layer, enum dlt_pass pass,
              int (*run)(struct bench_context *context, const void *what, int copy,
                         struct dlt_error *error),
              const void *what, struct bench_uses uses, struct dlt_error *error);
int bench_add_zero(struct bench_layer *layer, enum dlt_pass pass, struct bench_buffer *buffer,
                   struct dlt_error *error);
/* to = from, or to += from, in whatever types and layouts they have. */
int bench_add_copy(struct bench_layer *layer, enum dlt_pass pass, struct bench_buffer *from,
                   struct bench_buffer *to, bool accumulate, struct dlt_error *error);
/* *buffer in that type and layout: itself, or a copy that is made each time the pass runs. */
int bench_convert(struct bench_layer *layer, enum dlt_pass pass, enum bench_type type, bool last,
                  struct bench_buffer **buffer, struct dlt_error *error);
/* Where an input's gradient is to be written, in this layer's type and layout; deliver adds what
 * brings it home: a gradient that somebody else wrote already is added to. */
int bench_collect(struct bench_layer *layer, int input, struct bench_buffer **target,
                  struct dlt_error *error);
int bench_deliver(struct bench_layer *layer, enum dlt_pass pass, int input,
                  struct bench_buffer *target, struct dlt_error *error);
int bench_execute(struct bench_layer *layer, enum dlt_pass pass, int copy, struct dlt_error *error);
int bench_layer_run(struct bench_layer *layer, enum dlt_pass pass, int64_t iterations,
                    struct dlt_error *error);

/* ---- layer.c ---- */
/* One row of the table of operators. forward sets up the output and the forward pass, backward the
 * passes for the gradients asked for. */
struct bench_operator {
    const char *kind;
    int (*forward)(struct bench_layer *layer, struct dlt_error *error);
    int (*backward)(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error);
    bool weights; /* has parameters */
    bool split;   /* their gradient is a pass of its own */
    /* Whether it runs the record, where not all of its kind; may be NULL. */
    bool (*takes)(const struct bench_context *context, const struct dlt_record *record);
};
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
void bench_layer_choice(const struct bench_layer *layer, enum dlt_pass pass,
                        struct bench_choice *choice);
int bench_layer_new(struct bench_context *context, const char *name, struct bench_layer **layer,
                    struct dlt_error *error);
/* layer->value[index]: the input as this layer reads it; made with random values in a standalone
 * layer. */
int bench_input(struct bench_layer *layer, int index, struct dlt_error *error);
/* The output, shaped by the record, in this layer's type and layout. */
int bench_output(struct bench_layer *layer, struct dlt_error *error);
int bench_output_shaped(struct bench_layer *layer, const struct bench_shape *shape,
                        struct dlt_error *error);
/* The output's gradient in this layer's type and layout; random where the layer is standalone. */
int bench_output_gradient(struct bench_layer *layer, enum dlt_pass pass,
                          struct bench_buffer **gradient, struct dlt_error *error);
/* A parameter with values center +- spread, of the role's shape in row-major order or of another
 * one, and the place of its gradient. */
int bench_parameter(struct bench_layer *layer, enum bench_type type, bool last,
                    const struct bench_shape *shape, float center, float spread,
                    struct bench_parameter *parameter, struct dlt_error *error);
int bench_role_parameter(struct bench_layer *layer, enum bench_role role, enum bench_type type,
                         float center, float spread, struct bench_parameter *parameter,
                         struct dlt_error *error);
int bench_parameter_gradient(struct bench_layer *layer, struct bench_parameter *parameter,
                             struct dlt_error *error);
/* Where a weight's gradient is to be written; deliver adds it to what a layer that shares the
 * weight wrote. The gradient is kept by the layer that has the weight. */
int bench_parameter_collect(struct bench_layer *layer, struct bench_parameter *parameter,
                            struct bench_buffer **target, struct dlt_error *error);
int bench_parameter_deliver(struct bench_layer *layer, enum dlt_pass pass,
                            struct bench_parameter *parameter, struct bench_buffer *target,
                            struct dlt_error *error);
/* A buffer of `count` values besides the layer's tensors. */
int bench_scratch(struct bench_layer *layer, enum bench_type type, int64_t count,
                  struct bench_buffer **buffer, struct dlt_error *error);

/* ---- pad.c: a convolution's input where its sides are padded differently ---- */
bool bench_pad_needed(const struct dlt_record *record);
/* What both sides have, and cuDNN pads. */
int64_t bench_pad_common(const struct dlt_record *record, int dim);
/* The input's shape with what one side has more. */
void bench_pad_shape(const struct dlt_record *record, struct bench_shape *shape);
/* An array of that shape, zero. */
int bench_pad_buffer(struct bench_layer *layer, struct bench_buffer **buffer,
                     struct dlt_error *error);
/* Adds the copy of the image into the padded array, or out of it. */
int bench_pad_add(struct bench_layer *layer, enum dlt_pass pass, bool into,
                  const struct bench_buffer *image, const struct bench_buffer *padded,
                  struct dlt_error *error);

/* ---- convolution.c ---- */
int bench_convolution_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_convolution_backward(struct bench_layer *layer, bool data, bool weight,
                               struct dlt_error *error);

/* ---- matmul.c ---- */
/* C = alpha op(A) op(B) in row-major order, `batch` times; each matrix follows the one before. */
struct bench_matmul {
    int64_t batch, m, n, k;
    bool transpose_a, transpose_b; /* A is stored [k][m], B is stored [n][k] */
    float alpha;
    const struct bench_buffer *a, *b, *bias; /* bias: of n values, or NULL */
    struct bench_buffer *c;
    enum dlt_function activation; /* applied after the bias: none, relu, gelu (tanh form) */
};
int bench_add_matmul(struct bench_layer *layer, enum dlt_pass pass,
                     const struct bench_matmul *product, struct dlt_error *error);
bool bench_dense_takes(const struct bench_context *context, const struct dlt_record *record);
int bench_dense_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_dense_backward(struct bench_layer *layer, bool data, bool weight,
                         struct dlt_error *error);
int bench_bmm_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_bmm_backward(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error);

/* ---- sum.c ---- */
/* The sums of `gradient` over everything but channels, into `to`. */
int bench_add_channel_sum(struct bench_layer *layer, enum dlt_pass pass,
                          const struct bench_buffer *gradient, int64_t images, int64_t channels,
                          int64_t plane, struct bench_buffer *to, struct dlt_error *error);
/* The sums of parts, `pitch` values from one to the next. */
int bench_add_combine(struct bench_layer *layer, enum dlt_pass pass,
                      const struct bench_buffer *partial, int64_t start, int64_t pitch, int splits,
                      struct bench_buffer *to, struct dlt_error *error);
/* Parts into which a sum over so many rows is split, so that the device is full. */
int bench_splits(const struct bench_context *context, int64_t blocks, int64_t rows);
/* The kernel for as many elements as go into one sum. */
int bench_add_reduce(struct bench_layer *layer, enum dlt_pass pass,
                     const struct bench_reduce_arguments *reduce, const struct bench_buffer *from,
                     const struct bench_buffer *to, struct dlt_error *error);

/* ---- pool.c, norm.c, batch_norm.c, rowwise.c, binary.c, update.c, view.c ---- */
int bench_pool_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_pool_backward(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error);
bool bench_batch_norm_takes(const struct bench_context *context, const struct dlt_record *record);
int bench_batch_norm_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_batch_norm_backward(struct bench_layer *layer, bool data, bool weight,
                              struct dlt_error *error);
bool bench_norm_takes(const struct bench_context *context, const struct dlt_record *record);
int bench_norm_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_norm_backward(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error);
int bench_softmax_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_softmax_backward(struct bench_layer *layer, bool data, bool weight,
                           struct dlt_error *error);
int bench_add_softmax(struct bench_layer *layer, enum dlt_pass pass, const char *kernel,
                      const struct bench_softmax_arguments *softmax, const struct bench_buffer *in,
                      const struct bench_buffer *gradient, struct bench_buffer *out,
                      struct dlt_error *error);
bool bench_elementwise_takes(const struct bench_context *context, const struct dlt_record *record);
int bench_elementwise_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_elementwise_backward(struct bench_layer *layer, bool data, bool weight,
                               struct dlt_error *error);
/* "add", ...; NULL where there is no kernel of two operands for the function. */
const char *bench_binary_name(int64_t function);
int bench_binary_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_binary_backward(struct bench_layer *layer, struct dlt_error *error);
int bench_update_arrays(struct bench_layer *layer, struct dlt_error *error);
int bench_update_layer(struct bench_layer *layer, struct dlt_error *error);
int bench_view_create(struct bench_context *context, struct bench_tensor *tensor,
                      const struct bench_shape *shape, struct bench_layer **layer,
                      struct bench_tensor **view, struct dlt_error *error);
int bench_map_create(struct bench_context *context, struct bench_tensor *tensor,
                     const struct bench_map *map, struct bench_layer **layer,
                     struct bench_tensor **mapped, struct dlt_error *error);
int bench_loss_create(struct bench_context *context, struct bench_tensor *scores,
                      struct bench_layer **layer, struct dlt_error *error);
double bench_loss_value(struct bench_layer *layer);

int bench_parameter_create(struct bench_context *context, const struct bench_shape *shape,
                           struct bench_layer **layer, struct bench_tensor **tensor,
                           struct dlt_error *error);
bool bench_upsample_takes(const struct bench_context *context, const struct dlt_record *record);
int bench_upsample_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_upsample_backward(struct bench_layer *layer, bool data, bool weight,
                            struct dlt_error *error);

/* ---- sequence.c, recurrent.c ---- */
int bench_attention_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_attention_backward(struct bench_layer *layer, bool data, bool weight,
                             struct dlt_error *error);
int bench_embedding_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_embedding_backward(struct bench_layer *layer, bool data, bool weight,
                             struct dlt_error *error);
int bench_cross_entropy_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_cross_entropy_backward(struct bench_layer *layer, bool data, bool weight,
                                 struct dlt_error *error);
int bench_reduction_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_reduction_backward(struct bench_layer *layer, bool data, bool weight,
                             struct dlt_error *error);
bool bench_recurrent_takes(const struct bench_context *context, const struct dlt_record *record);
int bench_recurrent_forward(struct bench_layer *layer, struct dlt_error *error);
int bench_recurrent_backward(struct bench_layer *layer, bool data, bool weight,
                             struct dlt_error *error);
/* Weights, biases and their gradients in the canonical order. */
int bench_recurrent_read(struct bench_layer *layer, enum bench_role role, int index, double *values,
                         struct dlt_error *error);

/* ---- descriptor.c: cuDNN's descriptors, kept by the context until its reset ---- */
/* A tensor of the canonical shape (one spatial dimension becomes two) in that type and layout. */
int bench_tensor_descriptor(struct bench_context *context, enum bench_type type, bool last,
                            const struct bench_shape *shape, cudnnTensorDescriptor_t *descriptor,
                            struct dlt_error *error);
int bench_filter_descriptor(struct bench_context *context, enum bench_type type, bool last,
                            const struct dlt_record *record, cudnnFilterDescriptor_t *descriptor,
                            struct dlt_error *error);
int bench_convolution_descriptor(struct bench_context *context, const struct dlt_record *record,
                                 cudnnConvolutionDescriptor_t *descriptor, struct dlt_error *error);
cudnnDataType_t bench_cudnn_type(enum bench_type type);
/* The arithmetic that a record allows. Tensor cores round float32 to tf32, which the default allows
 * and IEEE arithmetic has to forbid. */
cudnnMathType_t bench_cudnn_math(const struct dlt_record *record);

#endif

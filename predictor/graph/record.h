/*
 * record.h - the canonical measurement record: what exactly is timed.
 *
 * A record names one operator kind with its sizes, the pass, dtype and math mode. The same struct
 * is a row of a measurements file, a priced unit of a network, and what a benchmark backend runs.
 * Every kind is one row of the table in record_kinds.c: its fields (for reading and writing) and
 * its work (for the cost model). Nothing else in the program switches on kinds except code about
 * one kind.
 */
#ifndef DLT_GRAPH_RECORD_H
#define DLT_GRAPH_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dltime.h"

enum dlt_pass {
    DLT_FORWARD,
    DLT_BACKWARD_DATA,
    DLT_BACKWARD_WEIGHT,
    DLT_BACKWARD, /* data and weight */
    DLT_UPDATE,   /* the optimizer */
    DLT_STEP,     /* forward + backward + update */
    DLT_PASSES
};

enum dlt_dtype { DLT_FLOAT32, DLT_FLOAT16, DLT_BFLOAT16, DLT_DTYPES };
enum dlt_math { DLT_IEEE, DLT_TF32, DLT_MATHS };
enum dlt_layout { DLT_NCHW, DLT_NHWC, DLT_LAYOUTS };
enum dlt_cache { DLT_CACHE_UNKNOWN, DLT_CACHE_COLD, DLT_CACHE_WARM, DLT_CACHES };

/* Elementwise functions; also what a matmul or convolution applies at its end (activation). */
enum dlt_function {
    DLT_FUNCTION_NONE,
    DLT_RELU,
    DLT_GELU,
    DLT_SIGMOID,
    DLT_TANH,
    DLT_ADD,
    DLT_SUB,
    DLT_MUL,
    DLT_DIV,
    DLT_POW,
    DLT_DROPOUT,
    DLT_CONCAT,
    DLT_RELU6,
    DLT_CAST,
    DLT_SILU,
    DLT_HARDSWISH,
    DLT_HARDSIGMOID,
    DLT_HARDTANH,
    DLT_LEAKY_RELU,
    DLT_ELU,
    DLT_PRELU,
    DLT_SOFTPLUS,
    DLT_MISH,
    DLT_EXP, /* sin, cos and the like cost the same */
    DLT_LOG,
    DLT_SQRT,
    DLT_ERF,
    DLT_ABS, /* neg, sign, floor, not, ...: one instruction */
    DLT_WHERE,
    DLT_MAXIMUM,
    DLT_COMPARE,
    DLT_COPY, /* the elements in another order or place: pad, roll, gather, shuffle */
    DLT_FUNCTIONS
};

/* How an upsampling interpolates. */
enum dlt_upsample {
    DLT_NEAREST,
    DLT_NEAREST_EXACT,
    DLT_LINEAR,
    DLT_BILINEAR,
    DLT_BICUBIC,
    DLT_TRILINEAR,
    DLT_UPSAMPLES
};

enum dlt_optimizer {
    DLT_OPTIMIZER_NONE,
    DLT_SGD,
    DLT_MOMENTUM,
    DLT_NESTEROV,
    DLT_ADAM,
    DLT_ADAMW,
    DLT_ADAGRAD,
    DLT_ADADELTA,
    DLT_RMSPROP,
    DLT_LAMB,
    DLT_OPTIMIZERS
};

/* How an optimizer walks the parameters: one kernel a tensor, batched kernels, one fused kernel. */
enum dlt_implementation { DLT_FOR_LOOP, DLT_FOREACH, DLT_FUSED, DLT_IMPLEMENTATIONS };

/* Name tables, indexed by the enumerations above, as files spell them. */
extern const char *const dlt_pass_names[DLT_PASSES];
extern const char *const dlt_dtype_names[DLT_DTYPES];
extern const char *const dlt_math_names[DLT_MATHS];
extern const char *const dlt_layout_names[DLT_LAYOUTS];
extern const char *const dlt_cache_names[DLT_CACHES];
extern const char *const dlt_function_names[DLT_FUNCTIONS];
extern const char *const dlt_upsample_names[DLT_UPSAMPLES];
extern const char *const dlt_optimizer_names[DLT_OPTIMIZERS];
extern const char *const dlt_implementation_names[DLT_IMPLEMENTATIONS];

/* Index of name in a table of count names, or -1. */
int dlt_name_index(const char *const *names, size_t count, const char *name);

/* Bytes of one element. */
size_t dlt_dtype_size(enum dlt_dtype dtype);

/*
 * Reads and writes of the parameter-sized arrays by one update, elements per parameter: weight and
 * gradient read, weight written, and the state read and written. sgd 3, momentum 5, adam 7, ...
 */
double dlt_optimizer_touches(enum dlt_optimizer optimizer);
/* Parameter-sized arrays of state that the optimizer keeps (momentum 1, adam 2, sgd 0). */
int dlt_optimizer_states(enum dlt_optimizer optimizer);

/* Convolutions, pools and batch_norm: N x C x spatial; dims of them are used (1 to 3), the kind
 * says how many. Lists hold height before width. Pools and norms use in_channels for their
 * channels. */
struct dlt_spatial {
    int64_t batch, in_channels, out_channels, groups, bias, training;
    int64_t in_size[3], kernel[3], stride[3], dilation[3];
    int64_t padding[3][2]; /* before and after, per dimension */
    int64_t out_size[3];   /* of a transposed convolution; 0: follows from the others */
};

/* dense: m rows (batch), k in_features, n out_features. bmm: `batch` products of m x k by k x n.
 * embedding: m rows out of k, each n wide. */
struct dlt_matmul {
    int64_t batch, m, n, k, bias;
};

/* Operators over a rows x columns array; columns is the reduced or contiguous length. upsample: its
 * mode in function, columns the plane of the output, operands that of the input. */
struct dlt_rowwise {
    int64_t function, operands, rows, columns;
};

/* rnn, gru, lstm over `length` steps. out_features: proj_size where there is one, else hidden_size.
 * A layer after the first reads all directions of the one before. */
struct dlt_recurrent {
    int64_t batch, length, in_features, hidden_size, out_features, num_layers, bidirectional, bias;
};

/* softmax(Q K^T) V of batch x heads: Q is query_length x head_size, K and V key_length x head_size.
 * causal: a query sees the keys up to its own place; the work is counted in full. */
struct dlt_attention {
    int64_t batch, heads, query_length, key_length, head_size, causal;
};

/* One step of the optimizer over all parameters. */
struct dlt_update {
    int64_t elements, tensors, implementation;
};

struct dlt_record_kind;

struct dlt_record {
    const struct dlt_record_kind *kind; /* NULL: nothing to price */
    enum dlt_pass pass;
    enum dlt_dtype dtype;
    enum dlt_math math;
    enum dlt_layout layout;
    enum dlt_cache cache;
    enum dlt_function activation;
    enum dlt_optimizer optimizer;
    int threads; /* CPU threads; 0 on a GPU */
    union {
        struct dlt_spatial spatial;
        struct dlt_matmul matmul;
        struct dlt_rowwise rowwise;
        struct dlt_update update;
        struct dlt_recurrent recurrent;
        struct dlt_attention attention;
    } u;
};

/* What a pass has to do at the least. Elements of the forward pass's input, output and weights stay
 * the same for every pass; flops, macs and bytes are those of the record's own pass. */
struct dlt_work {
    double input, output, weights; /* elements */
    double macs;                   /* multiply-accumulates of matmul-like work */
    double flops;                  /* 2 x macs plus the elementwise ones */
    double bytes;                  /* compulsory traffic: each operand once */
    double m, n, k;                /* the forward pass as one matrix product (per group or batch) */
    double batch;                  /* how many such products */
};

enum dlt_field_type {
    DLT_FIELD_INT,     /* one whole number >= 1 */
    DLT_FIELD_BOOL,    /* true or false */
    DLT_FIELD_LIST,    /* `dims` whole numbers */
    DLT_FIELD_PADDING, /* "valid", "same", [p, ...] or [[before, after], ...] */
    DLT_FIELD_NAME     /* one of names */
};

struct dlt_field {
    const char *name;
    enum dlt_field_type type;
    size_t offset; /* of the int64_t (first of a list) within struct dlt_record */
    bool required;
    int64_t fallback; /* where the field is absent */
    const char *const *names;
    size_t name_count;
};

enum { DLT_RECORD_FIELDS = 12 };

struct dlt_record_kind {
    const char *name;                           /* "conv2d" */
    int dims;                                   /* spatial dimensions; 0 where there are none */
    struct dlt_field fields[DLT_RECORD_FIELDS]; /* ended by a NULL name */
    void (*work)(const struct dlt_record *record, struct dlt_work *work);
};

/* The table. */
size_t dlt_record_kind_count(void);
const struct dlt_record_kind *dlt_record_kind_at(size_t index);
/* NULL if there is none of that name. */
const struct dlt_record_kind *dlt_record_kind_find(const char *name);
/* Of any dimensions, transposed ones too. False for NULL. */
bool dlt_is_convolution(const struct dlt_record_kind *kind);

/* A record of that kind with every field at its fallback. */
struct dlt_record dlt_record_make(const struct dlt_record_kind *kind);
/* The int64_t that a field describes. */
int64_t *dlt_record_field(struct dlt_record *record, const struct dlt_field *field);

/* The work of a valid record (see dlt_record_check). */
void dlt_record_work(const struct dlt_record *record, struct dlt_work *work);

/* Output size of a convolution or pool in spatial dimension `dim`; < 1 if the kernel does not fit.
 * floor((in + pads - dilation (kernel - 1) - 1) / stride) + 1. */
int64_t dlt_spatial_out(const struct dlt_spatial *s, int dim);

/* Sets padding as TensorFlow's "same": out = ceil(in / stride), the odd element after. */
void dlt_spatial_pad_same(struct dlt_spatial *s, int dims);

/* Checks that sizes are positive, groups divide, the kernel fits and no product passes 2^53. */
int dlt_record_check(const struct dlt_record *record, struct dlt_error *error);

/* Whether two records are the same work (all fields that their kind uses, pass, dtype, ...). */
bool dlt_record_equal(const struct dlt_record *a, const struct dlt_record *b);
/* A hash that agrees with dlt_record_equal. */
uint64_t dlt_record_hash(const struct dlt_record *record);

#endif

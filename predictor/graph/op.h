/*
 * op.h - the operator table.
 *
 * An operator is one row: its name, its attributes (torch.nn's names, meanings and defaults), what
 * backward needs kept, and one function that, from the shapes of the inputs and the attributes,
 * gives the shapes of the outputs, the parameters, and the canonical record of the forward pass.
 * MACs, FLOPs and bytes follow from that record, so they are written down once (record.c).
 * Related operators share a function: adding one takes a row and at most one function.
 */
#ifndef DLT_GRAPH_OP_H
#define DLT_GRAPH_OP_H

#include "graph/graph.h"

enum dlt_attribute_type {
    DLT_ATTRIBUTE_INT,     /* one whole number in [least, most] */
    DLT_ATTRIBUTE_BOOL,    /* true or false */
    DLT_ATTRIBUTE_REAL,    /* any number; kept is whether it is not 0: no time depends on more */
    DLT_ATTRIBUTE_LIST,    /* one number for all spatial dimensions, or a list of one for each */
    DLT_ATTRIBUTE_PADDING, /* "same", "valid", a number, [p, ...] or [[before, after], ...] */
    DLT_ATTRIBUTE_SIZES,   /* a number, or a list of up to DLT_SIZES: struct dlt_sizes */
    DLT_ATTRIBUTE_NAME     /* one of names; its index is kept */
};

enum { DLT_SIZES = 16, DLT_OP_OUTPUTS = 64 };

/* First number of a padding that was given as "same"; it depends on the input's size. */
#define DLT_PADDING_SAME INT64_C(-1)
/* An attribute that was not given and has no default value of its own. */
#define DLT_ABSENT       INT64_MIN

/* A list whose length the operator does not fix. count 0: one bare number, in value[0]. */
struct dlt_sizes {
    int64_t count; /* DLT_ABSENT: not given */
    int64_t value[DLT_SIZES];
};

struct dlt_attribute {
    const char *name;
    enum dlt_attribute_type type;
    size_t slot; /* index of its first number in dlt_node.attribute */
    bool required;
    int64_t fallback;
    int64_t least, most;
    const char *const *names; /* ended by NULL */
};

/* What an operator is to a framework: what it fuses with, in which type it runs, how many kernels
 * it launches (lower/). */
enum dlt_op_class {
    DLT_OP_CONVOLUTION,
    DLT_OP_MATMUL,
    DLT_OP_BATCH_NORM,
    DLT_OP_NORM,
    DLT_OP_SOFTMAX,
    DLT_OP_POOL,
    DLT_OP_ACTIVATION, /* one input, elementwise */
    DLT_OP_ARITHMETIC, /* several inputs, elementwise */
    DLT_OP_DROPOUT,    /* elementwise in training, nothing in inference */
    DLT_OP_REDUCTION,
    DLT_OP_LOSS,
    DLT_OP_EMBEDDING,
    DLT_OP_ATTENTION, /* scaled-dot-product attention as one thing */
    DLT_OP_RECURRENT,
    DLT_OP_MOVE,      /* copies */
    DLT_OP_PARAMETER, /* a parameter as a tensor: nothing runs */
    DLT_OP_VIEW,      /* another look at the same memory: free */
    DLT_OP_CLASSES
};

/* What forward keeps for backward (PyTorch's derivatives.yaml). */
enum {
    DLT_SAVE_INPUT = 1,    /* the first input, where a gradient of this node needs it */
    DLT_SAVE_OUTPUT = 2,   /* the output */
    DLT_SAVE_INPUTS = 4,   /* all inputs */
    DLT_SAVE_MASK = 8,     /* one byte an output element */
    DLT_SAVE_INDICES = 16, /* eight bytes an output element */
    DLT_SAVE_OTHERS = 32,  /* each input that the gradient of another one needs (mul, matmul) */
    DLT_SAVE_DIVISOR = 64, /* the second input; the first as well if the second has a gradient */
    DLT_SAVE_SECOND = 128, /* the second input (a loss's target, an index) */
    DLT_SAVE_POWER = 256   /* the output, where the second input has a gradient */
};

/* Where an operator stands: what its function may look at. */
struct dlt_op_site {
    const struct dlt_op *op;
    const int64_t *attribute;
    const struct dlt_tensor *tensor; /* the graph's */
    const int *input;                /* indices into it */
    size_t input_count;
    bool training;
};
static inline const struct dlt_tensor *dlt_site_input(const struct dlt_op_site *site, size_t i)
{
    return &site->tensor[site->input[i]];
}

/* What its function finds out. Zeroed but for output, of which output_count are set. */
struct dlt_op_result {
    size_t output_count;
    double weight;            /* elements of the weight, which other layers may share */
    double parameters;        /* elements of all parameters, the weight included */
    double tensors;           /* parameter tensors */
    double buffers;           /* elements of state that is not trained */
    double inside;            /* elements kept for backward that are no tensor of the graph */
    struct dlt_record record; /* forward, float32; kind NULL: nothing runs */
    struct dlt_tensor output[DLT_OP_OUTPUTS];
};

struct dlt_expansion; /* graph/expand.h */

enum { DLT_OP_ATTRIBUTES = 12 };

struct dlt_op {
    const char *name;
    enum dlt_op_class class;
    int dims; /* spatial dimensions; 0: none */
    size_t least_inputs, most_inputs;
    unsigned saves;                                    /* DLT_SAVE_... */
    bool takes_integers;                               /* token ids, masks */
    bool float_in_amp;                                 /* on autocast's list of float32 operators */
    const char *kind;                                  /* the record's kind; NULL: nothing runs */
    enum dlt_function function;                        /* of an elementwise one */
    struct dlt_attribute attribute[DLT_OP_ATTRIBUTES]; /* ended by a NULL name */
    int (*infer)(const struct dlt_op_site *site, struct dlt_op_result *result,
                 struct dlt_error *error);
    /* Instead of infer: it stands for several operators, which this adds (graph/expand.h). */
    int (*expand)(struct dlt_expansion *expansion, struct dlt_error *error);
};

/* The table: one part a family. */
struct dlt_op_family {
    const struct dlt_op *op;
    size_t count;
};
extern const struct dlt_op_family dlt_ops_spatial, dlt_ops_norm, dlt_ops_reduce,
    dlt_ops_elementwise, dlt_ops_matmul, dlt_ops_sequence, dlt_ops_shape, dlt_ops_move;

size_t dlt_op_count(void);
const struct dlt_op *dlt_op_at(size_t index);
/* NULL if there is none of that name. */
const struct dlt_op *dlt_op_find(const char *name);
/* The nearest operator's name, or NULL. */
const char *dlt_op_nearest(const char *name);

/* Numbers that an attribute takes in dlt_node.attribute. */
size_t dlt_attribute_width(const struct dlt_op *op, const struct dlt_attribute *attribute);
/* Fills an attribute array with the operator's defaults. */
void dlt_op_defaults(const struct dlt_op *op, int64_t attribute[DLT_ATTRIBUTES]);

/*
 * Shapes, parameters and record of an operator at a site. All sizes are checked: no dimension
 * passes 2^31 - 1 and no product 2^53. The sentence on failure names no place; the caller adds it.
 */
int dlt_op_infer(const struct dlt_op_site *site, struct dlt_op_result *result,
                 struct dlt_error *error);

/* The same for a node of a finished graph, which cannot fail. */
void dlt_node_infer(const struct dlt_graph *graph, size_t node, bool training,
                    struct dlt_op_result *result);

/* Attribute arrays as the functions see them: all int64_t, in the order of dlt_node.attribute. */
struct dlt_convolution_attributes {
    int64_t in_channels, out_channels, kernel_size[3], stride[3], dilation[3], padding[3][2],
        output_padding[3], groups, bias;
};
struct dlt_pool_attributes {
    int64_t kernel_size[3], stride[3], dilation[3], padding[3][2], ceil_mode, count_include_pad;
};
struct dlt_adaptive_pool_attributes {
    int64_t output_size[3];
};
struct dlt_batch_norm_attributes {
    int64_t num_features, affine, track_running_stats;
};
struct dlt_group_norm_attributes {
    int64_t num_groups, num_channels, affine;
};
struct dlt_layer_norm_attributes { /* rms_norm has no bias */
    struct dlt_sizes normalized_shape;
    int64_t elementwise_affine, bias;
};
struct dlt_dense_attributes {
    int64_t in_features, out_features, bias;
};
struct dlt_embedding_attributes {
    int64_t num_embeddings, embedding_dim;
};
struct dlt_recurrent_attributes {
    int64_t input_size, hidden_size, num_layers, bias, batch_first, bidirectional, proj_size;
};
struct dlt_attention_attributes {
    int64_t embed_dim, num_heads, bias, kdim, vdim, batch_first, need_weights, is_causal;
};
struct dlt_experts_attributes {
    int64_t num_experts, top_k, hidden_features, bias, activation, gated;
};
struct dlt_dropout_attributes {
    int64_t p; /* 0: nothing is dropped */
};
struct dlt_prelu_attributes {
    int64_t num_parameters;
};
struct dlt_dim_attributes { /* concat, split, softmax, squeeze, unsqueeze */
    int64_t dim;
    struct dlt_sizes sections; /* split */
};
struct dlt_reduce_attributes {
    struct dlt_sizes dim;
    int64_t keepdim;
};
struct dlt_flatten_attributes {
    int64_t start_dim, end_dim;
};
struct dlt_reshape_attributes { /* reshape, expand, parameter, permute, pad */
    struct dlt_sizes shape;
};
struct dlt_transpose_attributes {
    int64_t dim0, dim1;
};
struct dlt_slice_attributes {
    int64_t dim, start, end, step;
};
struct dlt_upsample_attributes {
    struct dlt_sizes size;
    int64_t scale_factor, mode;
};
struct dlt_factor_attributes { /* pixel_shuffle, pixel_unshuffle, channel_shuffle */
    int64_t factor;
};
struct dlt_arange_attributes {
    int64_t end;
};

/* Helpers that they share. */

/* A shape as "[1, 3, 224, 224]". */
enum { DLT_SHAPE_TEXT = 192 };
char *dlt_shape_text(const struct dlt_tensor *tensor, char buffer[DLT_SHAPE_TEXT]);
/* Turns a dimension that may count from the end into 0..rank-1; fails outside. */
int dlt_wrap_dim(int64_t dim, int rank, int *wrapped, struct dlt_error *error);
/* One output of the first input's shape. */
void dlt_same_shape(const struct dlt_op_site *site, struct dlt_op_result *result);
/* NumPy's broadcasting of inputs first, first + 1, ... of a site into *out: aligned at the last
 * dimension, sizes equal or 1. */
int dlt_broadcast(const struct dlt_op_site *site, size_t first, struct dlt_tensor *out,
                  struct dlt_error *error);
/* Product of the dimensions from first to last - 1; INT64_MAX where it does not fit. */
int64_t dlt_shape_product(const struct dlt_tensor *tensor, int first, int last);
/* A record of the row's kind. */
struct dlt_record dlt_op_record(const struct dlt_op *op);
/* A record over rows x columns: up to three dimensions the last is the columns, beyond that a plane
 * (height x width) is, as in N x C x H x W. */
void dlt_rowwise_record(const struct dlt_op *op, const struct dlt_tensor *tensor, size_t operands,
                        struct dlt_record *record);

#endif

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
    DLT_ATTRIBUTE_REAL,    /* any number; checked, and forgotten: no time depends on it */
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
    DLT_OP_MOVE,       /* copies */
    DLT_OP_VIEW,       /* another look at the same memory: free */
    DLT_OP_CLASSES
};

/* What forward keeps for backward (PyTorch's derivatives.yaml). */
enum {
    DLT_SAVE_INPUT = 1,   /* the first input, where a gradient of this node needs it */
    DLT_SAVE_OUTPUT = 2,  /* the output */
    DLT_SAVE_INPUTS = 4,  /* all inputs */
    DLT_SAVE_MASK = 8,    /* one byte an output element */
    DLT_SAVE_INDICES = 16 /* eight bytes an output element */
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
    struct dlt_record record; /* forward, float32; kind NULL: nothing runs */
    struct dlt_tensor output[DLT_OP_OUTPUTS];
};

enum { DLT_OP_ATTRIBUTES = 12 };

struct dlt_op {
    const char *name;
    enum dlt_op_class class;
    int dims; /* spatial dimensions; 0: none */
    size_t least_inputs, most_inputs;
    unsigned saves;                                    /* DLT_SAVE_... */
    bool takes_integers;                               /* token ids, masks */
    const char *kind;                                  /* the record's kind; NULL: nothing runs */
    enum dlt_function function;                        /* of an elementwise one */
    struct dlt_attribute attribute[DLT_OP_ATTRIBUTES]; /* ended by a NULL name */
    int (*infer)(const struct dlt_op_site *site, struct dlt_op_result *result,
                 struct dlt_error *error);
};

/* The table. */
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
        groups, bias;
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
struct dlt_layer_norm_attributes {
    struct dlt_sizes normalized_shape;
    int64_t elementwise_affine, bias;
};
struct dlt_dense_attributes {
    int64_t in_features, out_features, bias;
};
struct dlt_dim_attributes {
    int64_t dim;
    struct dlt_sizes sections; /* split */
};
struct dlt_flatten_attributes {
    int64_t start_dim, end_dim;
};

/* The functions of the rows, one family a file. */
typedef int dlt_infer(const struct dlt_op_site *site, struct dlt_op_result *result,
                      struct dlt_error *error);
dlt_infer dlt_infer_convolution, dlt_infer_pool, dlt_infer_adaptive_pool, dlt_infer_batch_norm;
dlt_infer dlt_infer_dense, dlt_infer_layer_norm, dlt_infer_softmax;
dlt_infer dlt_infer_activation, dlt_infer_arithmetic, dlt_infer_dropout;
dlt_infer dlt_infer_flatten, dlt_infer_concat, dlt_infer_split, dlt_infer_identity;

/* Helpers that they share. */

/* A shape as "[1, 3, 224, 224]". */
enum { DLT_SHAPE_TEXT = 192 };
char *dlt_shape_text(const struct dlt_tensor *tensor, char buffer[DLT_SHAPE_TEXT]);
/* Turns a dimension that may count from the end into 0..rank-1; fails outside. */
int dlt_wrap_dim(int64_t dim, int rank, int *wrapped, struct dlt_error *error);
/* A record of the row's kind. */
struct dlt_record dlt_op_record(const struct dlt_op *op);
/* A record over rows x columns: up to three dimensions the last is the columns, beyond that a plane
 * (height x width) is, as in N x C x H x W. */
void dlt_rowwise_record(const struct dlt_op *op, const struct dlt_tensor *tensor, size_t operands,
                        struct dlt_record *record);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The table of record kinds: the fields of each and its work. */
#include <string.h>

#include "graph/record_work.h"

#define SPATIAL(field)   offsetof(struct dlt_record, u.spatial.field)
#define MATMUL(field)    offsetof(struct dlt_record, u.matmul.field)
#define ROWWISE(field)   offsetof(struct dlt_record, u.rowwise.field)
#define RECURRENT(field) offsetof(struct dlt_record, u.recurrent.field)
#define ATTENTION(field) offsetof(struct dlt_record, u.attention.field)
#define UPDATE(field)    offsetof(struct dlt_record, u.update.field)
#define REQUIRED(name, type, offset)                                                               \
    {                                                                                              \
        name, type, offset, true, 1, NULL, 0                                                       \
    }
#define OPTIONAL(name, type, offset, fallback)                                                     \
    {                                                                                              \
        name, type, offset, false, fallback, NULL, 0                                               \
    }

#define CONVOLUTION(kind_name, kind_dims)                                                          \
    {                                                                                              \
        kind_name, kind_dims,                                                                      \
            {REQUIRED("batch", DLT_FIELD_INT, SPATIAL(batch)),                                     \
             REQUIRED("in_channels", DLT_FIELD_INT, SPATIAL(in_channels)),                         \
             REQUIRED("in_size", DLT_FIELD_LIST, SPATIAL(in_size)),                                \
             REQUIRED("out_channels", DLT_FIELD_INT, SPATIAL(out_channels)),                       \
             REQUIRED("kernel", DLT_FIELD_LIST, SPATIAL(kernel)),                                  \
             OPTIONAL("stride", DLT_FIELD_LIST, SPATIAL(stride), 1),                               \
             OPTIONAL("dilation", DLT_FIELD_LIST, SPATIAL(dilation), 1),                           \
             OPTIONAL("padding", DLT_FIELD_PADDING, SPATIAL(padding), 0),                          \
             OPTIONAL("groups", DLT_FIELD_INT, SPATIAL(groups), 1),                                \
             OPTIONAL("bias", DLT_FIELD_BOOL, SPATIAL(bias), 0)},                                  \
            dlt_work_convolution                                                                   \
    }

#define TRANSPOSED(kind_name, kind_dims)                                                           \
    {                                                                                              \
        kind_name, kind_dims,                                                                      \
            {REQUIRED("batch", DLT_FIELD_INT, SPATIAL(batch)),                                     \
             REQUIRED("in_channels", DLT_FIELD_INT, SPATIAL(in_channels)),                         \
             REQUIRED("in_size", DLT_FIELD_LIST, SPATIAL(in_size)),                                \
             REQUIRED("out_channels", DLT_FIELD_INT, SPATIAL(out_channels)),                       \
             REQUIRED("out_size", DLT_FIELD_LIST, SPATIAL(out_size)),                              \
             REQUIRED("kernel", DLT_FIELD_LIST, SPATIAL(kernel)),                                  \
             OPTIONAL("stride", DLT_FIELD_LIST, SPATIAL(stride), 1),                               \
             OPTIONAL("dilation", DLT_FIELD_LIST, SPATIAL(dilation), 1),                           \
             OPTIONAL("padding", DLT_FIELD_PADDING, SPATIAL(padding), 0),                          \
             OPTIONAL("groups", DLT_FIELD_INT, SPATIAL(groups), 1),                                \
             OPTIONAL("bias", DLT_FIELD_BOOL, SPATIAL(bias), 0)},                                  \
            dlt_work_transposed                                                                    \
    }

#define POOL(kind_name, kind_dims)                                                                 \
    {                                                                                              \
        kind_name, kind_dims,                                                                      \
            {REQUIRED("batch", DLT_FIELD_INT, SPATIAL(batch)),                                     \
             REQUIRED("channels", DLT_FIELD_INT, SPATIAL(in_channels)),                            \
             REQUIRED("in_size", DLT_FIELD_LIST, SPATIAL(in_size)),                                \
             REQUIRED("kernel", DLT_FIELD_LIST, SPATIAL(kernel)),                                  \
             OPTIONAL("stride", DLT_FIELD_LIST, SPATIAL(stride), 1),                               \
             OPTIONAL("dilation", DLT_FIELD_LIST, SPATIAL(dilation), 1),                           \
             OPTIONAL("padding", DLT_FIELD_PADDING, SPATIAL(padding), 0)},                         \
            dlt_work_pool                                                                          \
    }

/* rows x columns, one of them normalised or reduced at a time. */
#define ROWS(kind_name, kind_work)                                                                 \
    {                                                                                              \
        kind_name, 0,                                                                              \
            {REQUIRED("rows", DLT_FIELD_INT, ROWWISE(rows)),                                       \
             REQUIRED("columns", DLT_FIELD_INT, ROWWISE(columns))},                                \
            kind_work                                                                              \
    }

/* hidden_size gates wide; out_features is proj_size where there is a projection. */
#define RECURRENT_KIND(kind_name)                                                                  \
    {                                                                                              \
        kind_name, 0,                                                                              \
            {REQUIRED("batch", DLT_FIELD_INT, RECURRENT(batch)),                                   \
             REQUIRED("length", DLT_FIELD_INT, RECURRENT(length)),                                 \
             REQUIRED("in_features", DLT_FIELD_INT, RECURRENT(in_features)),                       \
             REQUIRED("hidden_size", DLT_FIELD_INT, RECURRENT(hidden_size)),                       \
             REQUIRED("out_features", DLT_FIELD_INT, RECURRENT(out_features)),                     \
             OPTIONAL("num_layers", DLT_FIELD_INT, RECURRENT(num_layers), 1),                      \
             OPTIONAL("bidirectional", DLT_FIELD_BOOL, RECURRENT(bidirectional), 0),               \
             OPTIONAL("bias", DLT_FIELD_BOOL, RECURRENT(bias), 1)},                                \
            dlt_work_recurrent                                                                     \
    }

const char *const dlt_upsample_names[DLT_UPSAMPLES] = {"nearest",  "nearest-exact", "linear",
                                                       "bilinear", "bicubic",       "trilinear"};

static const struct dlt_record_kind kinds[] = {
    CONVOLUTION("conv1d", 1),
    CONVOLUTION("conv2d", 2),
    CONVOLUTION("conv3d", 3),
    {"dense",
     0,
     {REQUIRED("batch", DLT_FIELD_INT, MATMUL(m)),
      REQUIRED("in_features", DLT_FIELD_INT, MATMUL(k)),
      REQUIRED("out_features", DLT_FIELD_INT, MATMUL(n)),
      OPTIONAL("bias", DLT_FIELD_BOOL, MATMUL(bias), 0)},
     dlt_work_dense},
    {"bmm",
     0,
     {REQUIRED("batch", DLT_FIELD_INT, MATMUL(batch)), REQUIRED("m", DLT_FIELD_INT, MATMUL(m)),
      REQUIRED("n", DLT_FIELD_INT, MATMUL(n)), REQUIRED("k", DLT_FIELD_INT, MATMUL(k))},
     dlt_work_bmm},
    TRANSPOSED("conv_transpose1d", 1),
    TRANSPOSED("conv_transpose2d", 2),
    TRANSPOSED("conv_transpose3d", 3),
    POOL("max_pool1d", 1),
    POOL("avg_pool1d", 1),
    POOL("max_pool2d", 2),
    POOL("avg_pool2d", 2),
    POOL("max_pool3d", 3),
    POOL("avg_pool3d", 3),
    {"batch_norm",
     2,
     {REQUIRED("batch", DLT_FIELD_INT, SPATIAL(batch)),
      REQUIRED("channels", DLT_FIELD_INT, SPATIAL(in_channels)),
      REQUIRED("in_size", DLT_FIELD_LIST, SPATIAL(in_size)),
      OPTIONAL("training", DLT_FIELD_BOOL, SPATIAL(training), 1)},
     dlt_work_batch_norm},
    ROWS("layer_norm", dlt_work_layer_norm),
    ROWS("softmax", dlt_work_softmax),
    {"elementwise",
     0,
     {{"function", DLT_FIELD_NAME, ROWWISE(function), true, 0, dlt_function_names, DLT_FUNCTIONS},
      OPTIONAL("operands", DLT_FIELD_INT, ROWWISE(operands), 1),
      REQUIRED("rows", DLT_FIELD_INT, ROWWISE(rows)),
      REQUIRED("columns", DLT_FIELD_INT, ROWWISE(columns))},
     dlt_work_elementwise},
    {"optimizer_update",
     0,
     {REQUIRED("elements", DLT_FIELD_INT, UPDATE(elements)),
      OPTIONAL("tensors", DLT_FIELD_INT, UPDATE(tensors), 1),
      {"implementation", DLT_FIELD_NAME, UPDATE(implementation), false, DLT_FOR_LOOP,
       dlt_implementation_names, DLT_IMPLEMENTATIONS}},
     dlt_work_update},
    ROWS("rms_norm", dlt_work_rms_norm),
    ROWS("cross_entropy", dlt_work_cross_entropy),
    ROWS("reduction", dlt_work_reduction),
    {"group_norm",
     2,
     {REQUIRED("batch", DLT_FIELD_INT, SPATIAL(batch)),
      REQUIRED("channels", DLT_FIELD_INT, SPATIAL(in_channels)),
      REQUIRED("in_size", DLT_FIELD_LIST, SPATIAL(in_size)),
      REQUIRED("groups", DLT_FIELD_INT, SPATIAL(groups))},
     dlt_work_group_norm},
    {"embedding",
     0,
     {REQUIRED("rows", DLT_FIELD_INT, MATMUL(m)),
      REQUIRED("num_embeddings", DLT_FIELD_INT, MATMUL(k)),
      REQUIRED("embedding_dim", DLT_FIELD_INT, MATMUL(n))},
     dlt_work_embedding},
    {"scaled_dot_product_attention",
     0,
     {REQUIRED("batch", DLT_FIELD_INT, ATTENTION(batch)),
      REQUIRED("heads", DLT_FIELD_INT, ATTENTION(heads)),
      REQUIRED("query_length", DLT_FIELD_INT, ATTENTION(query_length)),
      REQUIRED("key_length", DLT_FIELD_INT, ATTENTION(key_length)),
      REQUIRED("head_size", DLT_FIELD_INT, ATTENTION(head_size)),
      OPTIONAL("causal", DLT_FIELD_BOOL, ATTENTION(causal), 0)},
     dlt_work_attention},
    RECURRENT_KIND("rnn"),
    RECURRENT_KIND("gru"),
    RECURRENT_KIND("lstm"),
    {"upsample",
     0,
     {{"mode", DLT_FIELD_NAME, ROWWISE(function), false, 0, dlt_upsample_names, DLT_UPSAMPLES},
      REQUIRED("rows", DLT_FIELD_INT, ROWWISE(rows)),
      REQUIRED("in_columns", DLT_FIELD_INT, ROWWISE(operands)),
      REQUIRED("columns", DLT_FIELD_INT, ROWWISE(columns))},
     dlt_work_upsample},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

size_t dlt_record_kind_count(void)
{
    return KINDS;
}

const struct dlt_record_kind *dlt_record_kind_at(size_t index)
{
    return &kinds[index];
}

const struct dlt_record_kind *dlt_record_kind_find(const char *name)
{
    /* Asked for with each node of a graph. */
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].name[0] == name[0] && strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

bool dlt_is_convolution(const struct dlt_record_kind *kind)
{
    return kind && strncmp(kind->name, "conv", 4) == 0;
}

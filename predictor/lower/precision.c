/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/op.h"
#include "lower/lower.h"

enum policy { POLICY_SAME, POLICY_HALF, POLICY_FLOAT };

/* amp, by what an operator is. */
static const enum policy amp_policy[DLT_OP_CLASSES] = {
    [DLT_OP_CONVOLUTION] = POLICY_HALF,
    [DLT_OP_MATMUL] = POLICY_HALF,
    [DLT_OP_NORM] = POLICY_FLOAT,
    [DLT_OP_SOFTMAX] = POLICY_FLOAT,
    [DLT_OP_ATTENTION] = POLICY_HALF,
    [DLT_OP_RECURRENT] = POLICY_HALF,
    [DLT_OP_LOSS] = POLICY_FLOAT,
    [DLT_OP_EMBEDDING] = POLICY_FLOAT, /* rows of a float32 table */
    [DLT_OP_PARAMETER] = POLICY_FLOAT,
};

static const struct {
    enum dlt_dtype half;
    bool amp;
} precisions[DLT_PRECISIONS] = {
    [DLT_PRECISION_FLOAT32] = {DLT_FLOAT32, false},
    [DLT_PRECISION_TF32] = {DLT_FLOAT32, false},
    [DLT_PRECISION_FLOAT16] = {DLT_FLOAT16, false},
    [DLT_PRECISION_BFLOAT16] = {DLT_BFLOAT16, false},
    [DLT_PRECISION_AMP_FLOAT16] = {DLT_FLOAT16, true},
    [DLT_PRECISION_AMP_BFLOAT16] = {DLT_BFLOAT16, true},
};

enum dlt_dtype dlt_lower_parameter_dtype(enum dlt_precision precision)
{
    return precisions[precision].amp ? DLT_FLOAT32 : precisions[precision].half;
}

bool dlt_lower_is_half(enum dlt_precision precision)
{
    return precisions[precision].half != DLT_FLOAT32;
}

void dlt_lower_dtypes(const struct dlt_graph *graph, enum dlt_precision precision,
                      unsigned char *dtype)
{
    enum dlt_dtype half = precisions[precision].half;

    for (size_t i = 0; i < graph->tensor_count; i++)
        dtype[i] = (unsigned char)dlt_lower_parameter_dtype(precision);
    if (!precisions[precision].amp)
        return;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct dlt_node *n = &graph->node[i];
        enum policy policy = n->op->float_in_amp ? POLICY_FLOAT : amp_policy[n->op->class];
        enum dlt_dtype out = policy == POLICY_FLOAT ? DLT_FLOAT32 : half;

        /* The widest input decides, as in PyTorch's type promotion. */
        for (size_t k = 0; k < n->input_count && policy == POLICY_SAME; k++)
            if (graph->tensor[n->input[k]].type == DLT_TENSOR_FLOAT &&
                dtype[n->input[k]] == DLT_FLOAT32)
                out = DLT_FLOAT32;
        for (size_t k = 0; k < n->output_count; k++)
            dtype[n->output + (int)k] = (unsigned char)out;
    }
}

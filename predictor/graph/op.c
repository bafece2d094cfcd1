/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/op.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

static const double most_elements = 9007199254740992.0; /* 2^53: exact in a double */

size_t dlt_attribute_width(const struct dlt_op *op, const struct dlt_attribute *attribute)
{
    switch (attribute->type) {
    case DLT_ATTRIBUTE_LIST:
        return (size_t)op->dims;
    case DLT_ATTRIBUTE_PADDING:
        return 2 * (size_t)op->dims;
    case DLT_ATTRIBUTE_SIZES:
        return 1 + DLT_SIZES;
    default:
        return 1;
    }
}

void dlt_op_defaults(const struct dlt_op *op, int64_t attribute[DLT_ATTRIBUTES])
{
    memset(attribute, 0, DLT_ATTRIBUTES * sizeof *attribute);
    for (const struct dlt_attribute *a = op->attribute; a->name; a++) {
        size_t width = a->type == DLT_ATTRIBUTE_SIZES ? 1 : dlt_attribute_width(op, a);

        for (size_t i = 0; i < width; i++)
            attribute[a->slot + i] = a->fallback;
    }
}

char *dlt_shape_text(const struct dlt_tensor *tensor, char buffer[DLT_SHAPE_TEXT])
{
    size_t used = 1;

    memcpy(buffer, "[", 2);
    for (int d = 0; d < tensor->rank; d++)
        used += (size_t)snprintf(buffer + used, DLT_SHAPE_TEXT - used, "%s%lld", d ? ", " : "",
                                 (long long)tensor->dim[d]);
    memcpy(buffer + used, "]", 2);
    return buffer;
}

int dlt_wrap_dim(int64_t dim, int rank, int *wrapped, struct dlt_error *error)
{
    if (dim < -rank || dim >= rank)
        return dlt_fail(error, "dimension %lld is outside -%d to %d", (long long)dim, rank,
                        rank - 1);
    *wrapped = (int)(dim < 0 ? dim + rank : dim);
    return 0;
}

void dlt_same_shape(const struct dlt_op_site *site, struct dlt_op_result *result)
{
    result->output[0] = *dlt_site_input(site, 0);
    result->output_count = 1;
}

int64_t dlt_shape_product(const struct dlt_tensor *tensor, int first, int last)
{
    int64_t elements = 1;

    for (int d = first; d < last; d++)
        if (__builtin_mul_overflow(elements, tensor->dim[d], &elements))
            return INT64_MAX;
    return elements;
}

int dlt_broadcast(const struct dlt_op_site *site, size_t first, struct dlt_tensor *out,
                  struct dlt_error *error)
{
    char one[DLT_SHAPE_TEXT], other[DLT_SHAPE_TEXT];

    *out = *dlt_site_input(site, first);
    for (size_t i = first + 1; i < site->input_count; i++) {
        const struct dlt_tensor *in = dlt_site_input(site, i);
        const struct dlt_tensor *longer = in->rank > out->rank ? in : out;
        struct dlt_tensor merged = *longer;

        for (int d = 1; d <= in->rank && d <= out->rank; d++) {
            int64_t a = out->dim[out->rank - d], b = in->dim[in->rank - d];

            if (a != b && a != 1 && b != 1)
                return dlt_fail(error, "shapes %s and %s do not go together",
                                dlt_shape_text(out, one), dlt_shape_text(in, other));
            merged.dim[merged.rank - d] = a == 1 ? b : a;
        }
        *out = merged;
    }
    return 0;
}

struct dlt_record dlt_op_record(const struct dlt_op *op)
{
    return dlt_record_make(dlt_record_kind_find(op->kind));
}

void dlt_rowwise_record(const struct dlt_op *op, const struct dlt_tensor *tensor, size_t operands,
                        struct dlt_record *record)
{
    int split = tensor->rank > 3 ? 2 : tensor->rank - 1;
    struct dlt_rowwise *r = &record->u.rowwise;

    *record = dlt_op_record(op);
    r->function = op->function;
    r->operands = (int64_t)operands;
    r->rows = r->columns = 1;
    for (int d = 0; d < tensor->rank; d++) {
        int64_t *side = d < split ? &r->rows : &r->columns;

        /* Too large a shape is refused later, with its own sentence. */
        if (__builtin_mul_overflow(*side, tensor->dim[d], side))
            *side = INT64_MAX;
    }
}

static int check_tensor(const struct dlt_tensor *tensor, struct dlt_error *error)
{
    char text[DLT_SHAPE_TEXT];
    double elements = 1;

    for (int d = 0; d < tensor->rank; d++) {
        if (tensor->dim[d] < 1 || tensor->dim[d] > INT32_MAX)
            return dlt_fail(error, "its output would be %s; sizes range from 1 to 2147483647",
                            dlt_shape_text(tensor, text));
        elements *= (double)tensor->dim[d];
    }
    if (elements > most_elements)
        return dlt_fail(error, "its output would be %s: more than 2^53 elements",
                        dlt_shape_text(tensor, text));
    return 0;
}

int dlt_op_infer(const struct dlt_op_site *site, struct dlt_op_result *result,
                 struct dlt_error *error)
{
    memset(result, 0, offsetof(struct dlt_op_result, output));
    if (site->op->infer(site, result, error))
        return -1;
    for (size_t i = 0; i < result->output_count; i++)
        if (check_tensor(&result->output[i], error))
            return -1;
    if (result->parameters > most_elements || result->buffers > most_elements)
        return dlt_fail(error, "it would have more than 2^53 parameters");
    if (!result->record.kind)
        return 0;
    return dlt_record_check(&result->record, error);
}

void dlt_node_infer(const struct dlt_graph *graph, size_t node, bool training,
                    struct dlt_op_result *result)
{
    const struct dlt_node *n = &graph->node[node];
    struct dlt_op_site site = {.op = n->op,
                               .attribute = n->attribute,
                               .tensor = graph->tensor,
                               .input = n->input,
                               .input_count = n->input_count,
                               .training = training};

    dlt_op_infer(&site, result, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on constants: the chains that compute shapes, and masks that no input changes. */
#include <math.h>
#include <string.h>

#include "graph/onnx_build.h"
#include "graph/onnx_functions.h"
#include "graph/op.h"

static int64_t to_int64(double real)
{
    return real >= -9.2e18 && real <= 9.2e18 ? (int64_t)real : 0;
}

static int bind(struct dlt_onnx_build *b, const struct dlt_onnx_tensor *t, bool literal)
{
    struct dlt_onnx_value value = dlt_onnx_of(t, literal);

    return t && dlt_onnx_bind_value(b, 0, &value) == 0 ? 1 : -1;
}

/* All inputs are constants, known or not. */
static bool all_constant(struct dlt_onnx_build *b)
{
    for (size_t i = 0; i < b->node->input_count; i++) {
        const struct dlt_onnx_value *value = dlt_onnx_input(b, i);

        if (value && value->kind != DLT_ONNX_CONSTANT)
            return false;
    }
    return true;
}

static bool all_known(struct dlt_onnx_build *b)
{
    for (size_t i = 0; i < b->node->input_count; i++)
        if (b->node->input[i] >= 0 && !dlt_onnx_is_constant(dlt_onnx_input(b, i)))
            return false;
    return true;
}

static bool any_literal(struct dlt_onnx_build *b)
{
    bool literal = false;

    for (size_t i = 0; i < b->node->input_count; i++) {
        const struct dlt_onnx_value *value = dlt_onnx_input(b, i);

        literal |= value && value->literal;
    }
    return literal;
}

/* NumPy's broadcasting, one more operand. */
static int broadcast(struct dlt_onnx_build *b, int *rank, int64_t dim[DLT_RANK],
                     const struct dlt_onnx_tensor *t)
{
    int wider = t->rank > *rank ? t->rank : *rank;
    int64_t merged[DLT_RANK] = {0};

    for (int d = 1; d <= wider; d++) {
        int64_t x = d <= *rank ? dim[*rank - d] : 1, y = d <= t->rank ? t->dim[t->rank - d] : 1;

        if (x != y && x != 1 && y != 1)
            return dlt_fail(b->error, "sizes %lld and %lld do not go together", (long long)x,
                            (long long)y);
        merged[wider - d] = x == 1 ? y : x;
    }
    *rank = wider;
    memcpy(dim, merged, (size_t)wider * sizeof *dim);
    return 0;
}

/* Where element i of a broadcast shape lies in t. */
static int64_t source(const struct dlt_onnx_tensor *out, int64_t i, const struct dlt_onnx_tensor *t)
{
    int64_t at = 0, stride = 1;

    for (int d = 1; d <= out->rank; d++) {
        int64_t place = i % out->dim[out->rank - d];

        i /= out->dim[out->rank - d];
        if (d > t->rank)
            continue;
        if (t->dim[t->rank - d] > 1)
            at += place * stride;
        stride *= t->dim[t->rank - d];
    }
    return at;
}

static bool known(const struct dlt_onnx_tensor *t)
{
    return t->ints || t->reals;
}

static void apply_binary(const struct dlt_onnx_binary *op, const struct dlt_onnx_tensor *x,
                         const struct dlt_onnx_tensor *y, struct dlt_onnx_tensor *out)
{
    for (int64_t i = 0; i < out->count; i++) {
        int64_t at = source(out, i, x), other = source(out, i, y);

        if (op->compares && (x->reals || y->reals)) {
            double gap = dlt_onnx_element(x, at) - dlt_onnx_element(y, other);

            dlt_onnx_set_element(out, i, 0, op->integer(gap > 0 ? 1 : gap < 0 ? -1 : 0, 0));
        } else if (out->reals) {
            dlt_onnx_set_element(out, i,
                                 op->real(dlt_onnx_element(x, at), dlt_onnx_element(y, other)), 0);
        } else {
            dlt_onnx_set_element(out, i, 0, op->integer(x->ints[at], y->ints[other]));
        }
    }
}

static int fold_binary(struct dlt_onnx_build *b, const struct dlt_onnx_binary *op)
{
    const struct dlt_onnx_tensor *x, *y;
    struct dlt_onnx_tensor *out;
    int64_t dim[DLT_RANK];
    int rank, type;

    if (b->node->input_count != 2 || !dlt_onnx_input(b, 0) || !dlt_onnx_input(b, 1))
        return 0;
    x = dlt_onnx_input(b, 0)->constant;
    y = dlt_onnx_input(b, 1)->constant;
    rank = x->rank;
    memcpy(dim, x->dim, sizeof dim);
    type = dlt_onnx_type_is_real(y->type) ? y->type : x->type;
    if (broadcast(b, &rank, dim, y))
        return -1;
    out =
        dlt_onnx_constant(b, op->compares ? DLT_ONNX_BOOL : type, rank, dim, known(x) && known(y));
    if (!out)
        return -1;
    if (known(out))
        apply_binary(op, x, y, out);
    return bind(b, out, any_literal(b));
}

static int fold_unary(struct dlt_onnx_build *b, const struct dlt_onnx_unary *op)
{
    const struct dlt_onnx_tensor *x;
    struct dlt_onnx_tensor *out;
    int type;

    if (!dlt_onnx_input(b, 0))
        return 0;
    x = dlt_onnx_input(b, 0)->constant;
    type = op->casts ? (int)dlt_onnx_integer(b, "to", x->type) : x->type;
    out = dlt_onnx_constant(b, type, x->rank, x->dim, known(x));
    if (!out)
        return -1;
    for (int64_t i = 0; known(out) && i < out->count; i++) {
        double value = op->real(dlt_onnx_element(x, i));
        bool whole = op->casts && x->ints;

        if (type == DLT_ONNX_BOOL)
            dlt_onnx_set_element(out, i, 0, value != 0);
        else
            dlt_onnx_set_element(out, i, value, whole ? x->ints[i] : to_int64(value));
    }
    return bind(b, out, any_literal(b));
}

static int fold_shape(struct dlt_onnx_build *b)
{
    const struct dlt_onnx_value *value = dlt_onnx_input(b, 0);
    struct dlt_onnx_tensor room;
    const struct dlt_onnx_tensor *x;
    struct dlt_onnx_tensor *out;
    int64_t begin = dlt_onnx_integer(b, "start", 0), end = dlt_onnx_integer(b, "end", DLT_RANK);
    int64_t count;

    if (!value)
        return 0;
    x = dlt_onnx_shape(b, value, &room);
    begin += begin < 0 ? x->rank : 0;
    end += end < 0 ? x->rank : 0;
    begin = begin < 0 ? 0 : begin > x->rank ? x->rank : begin;
    end = end < begin ? begin : end > x->rank ? x->rank : end;
    count = end - begin;
    out = dlt_onnx_constant(b, DLT_ONNX_INT64, 1, &count, true);
    if (!out)
        return -1;
    for (int64_t d = begin; d < end; d++)
        dlt_onnx_set_element(out, d - begin, 0, x->dim[d]);
    /* That of an initializer is as much a literal as its data. */
    return bind(b, out, value->kind != DLT_ONNX_TENSOR && value->literal);
}

static int fold_size(struct dlt_onnx_build *b)
{
    const struct dlt_onnx_value *value = dlt_onnx_input(b, 0);
    struct dlt_onnx_tensor room;
    struct dlt_onnx_tensor *out;

    if (!value)
        return 0;
    out = dlt_onnx_constant(b, DLT_ONNX_INT64, 0, NULL, true);
    if (!out)
        return -1;
    dlt_onnx_set_element(out, 0, 0, dlt_onnx_shape(b, value, &room)->count);
    return bind(b, out, false);
}

static int fold_constant(struct dlt_onnx_build *b)
{
    const struct dlt_onnx_attribute *a;
    struct dlt_onnx_tensor *out;
    int64_t count;

    a = dlt_onnx_attribute(b, "value");
    if (a && a->tensor)
        return bind(b, a->tensor, true);
    if ((a = dlt_onnx_attribute(b, "value_int")) || (a = dlt_onnx_attribute(b, "value_float"))) {
        out = dlt_onnx_constant(
            b, strcmp(a->name, "value_int") == 0 ? DLT_ONNX_INT64 : DLT_ONNX_FLOAT, 0, NULL, true);
        if (!out)
            return -1;
        dlt_onnx_set_element(out, 0, a->real, a->integer);
        return bind(b, out, true);
    }
    if (!(a = dlt_onnx_attribute(b, "value_ints")) && !(a = dlt_onnx_attribute(b, "value_floats")))
        return bind(b, dlt_onnx_constant(b, DLT_ONNX_STRING, 0, NULL, false), true);
    count = (int64_t)(a->int_count > a->real_count ? a->int_count : a->real_count);
    out = dlt_onnx_constant(b, a->real_count ? DLT_ONNX_FLOAT : DLT_ONNX_INT64, 1, &count, true);
    if (!out)
        return -1;
    for (int64_t i = 0; known(out) && i < count; i++)
        dlt_onnx_set_element(out, i, a->real_count ? a->reals[i] : 0,
                             a->int_count ? a->ints[i] : 0);
    return bind(b, out, true);
}

static int fold_fill(struct dlt_onnx_build *b)
{
    const struct dlt_onnx_attribute *a = dlt_onnx_attribute(b, "value");
    const struct dlt_onnx_tensor *filling = a ? a->tensor : NULL;
    struct dlt_onnx_ints dims;
    struct dlt_onnx_tensor *out;

    if (!dlt_onnx_value_ints(dlt_onnx_input(b, 0), &dims))
        return 0;
    if (dims.count > DLT_RANK)
        return dlt_fail(b->error, "%zu dimensions; %d is the most", dims.count, DLT_RANK);
    out = dlt_onnx_constant(b, filling ? filling->type : DLT_ONNX_FLOAT, (int)dims.count,
                            dims.value, true);
    if (!out)
        return -1;
    for (int64_t i = 0; known(out) && filling && known(filling) && i < out->count; i++)
        dlt_onnx_set_element(out, i, filling->reals ? filling->reals[0] : 0,
                             filling->ints ? filling->ints[0] : 0);
    return bind(b, out, any_literal(b));
}

static int fold_range(struct dlt_onnx_build *b)
{
    double start, limit, delta, steps;
    struct dlt_onnx_tensor *out;
    int64_t count;

    if (!dlt_onnx_value_real(dlt_onnx_input(b, 0), &start) ||
        !dlt_onnx_value_real(dlt_onnx_input(b, 1), &limit) ||
        !dlt_onnx_value_real(dlt_onnx_input(b, 2), &delta))
        return 0;
    steps = ceil((limit - start) / delta);
    if (!(steps <= INT32_MAX))
        return dlt_fail(b->error, "a range without end");
    count = steps > 0 ? (int64_t)steps : 0;
    out = dlt_onnx_constant(b, dlt_onnx_input(b, 0)->constant->type, 1, &count, true);
    if (!out)
        return -1;
    for (int64_t i = 0; known(out) && i < count; i++)
        dlt_onnx_set_element(out, i, start + (double)i * delta,
                             to_int64(start + (double)i * delta));
    return bind(b, out, any_literal(b));
}

static int fold_where(struct dlt_onnx_build *b)
{
    const struct dlt_onnx_tensor *t[3];
    struct dlt_onnx_tensor *out;
    int64_t dim[DLT_RANK] = {0};
    int rank = 0;

    if (b->node->input_count != 3)
        return 0;
    for (size_t k = 0; k < 3; k++) {
        if (!dlt_onnx_input(b, k))
            return 0;
        t[k] = dlt_onnx_input(b, k)->constant;
        if (broadcast(b, &rank, dim, t[k]))
            return -1;
    }
    out = dlt_onnx_constant(b, t[1]->type, rank, dim, all_known(b));
    if (!out)
        return -1;
    for (int64_t i = 0; known(out) && i < out->count; i++) {
        const struct dlt_onnx_tensor *from =
            dlt_onnx_element(t[0], source(out, i, t[0])) != 0 ? t[1] : t[2];
        int64_t at = source(out, i, from);

        dlt_onnx_set_element(out, i, dlt_onnx_element(from, at), from->ints ? from->ints[at] : 0);
    }
    return bind(b, out, any_literal(b));
}

/* Over all elements alone; along axes the shape is what is asked for, if anything. */
static int fold_reduce(struct dlt_onnx_build *b)
{
    static const char *const ops[] = {"ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin"};
    static const char *const steps[] = {"Mul", "Add", "Max", "Min"};
    const struct dlt_onnx_value *value = dlt_onnx_input(b, 0);
    int which = dlt_name_index(ops, 4, b->node->op);
    const struct dlt_onnx_tensor *t = dlt_onnx_is_constant(value) ? value->constant : NULL;
    struct dlt_onnx_tensor *out;
    struct dlt_onnx_ints axes;
    int64_t one = 1, whole = 0;
    double real;
    int given;

    if (which < 0 || !t || t->rank > 1 || t->count == 0)
        return 0;
    given = dlt_onnx_list_or_input(b, "axes", 1, &axes);
    if (given < 0 || (given > 0 && axes.count > 1))
        return 0;
    whole = t->ints ? t->ints[0] : 0;
    real = dlt_onnx_element(t, 0);
    for (int64_t i = 1; i < t->count; i++) {
        const struct dlt_onnx_binary *step = dlt_onnx_find_binary(steps[which]);

        whole = t->ints ? step->integer(whole, t->ints[i]) : 0;
        real = step->real(real, dlt_onnx_element(t, i));
    }
    out =
        dlt_onnx_constant(b, t->type, dlt_onnx_integer(b, "keepdims", 1) ? t->rank : 0, &one, true);
    if (!out)
        return -1;
    dlt_onnx_set_element(out, 0, real, whole);
    return bind(b, out, value->literal);
}

/* The indices of what is not zero, of constants alone: [rank, how many]. */
static int fold_nonzero(struct dlt_onnx_build *b)
{
    const struct dlt_onnx_value *value = dlt_onnx_input(b, 0);
    const struct dlt_onnx_tensor *t;
    struct dlt_onnx_tensor *out;
    int64_t dim[2] = {0, 0}, at = 0;

    if (!dlt_onnx_is_constant(value))
        return 0;
    t = value->constant;
    dim[0] = t->rank;
    for (int64_t i = 0; i < t->count; i++)
        dim[1] += dlt_onnx_element(t, i) != 0;
    out = dlt_onnx_constant(b, DLT_ONNX_INT64, 2, dim, true);
    if (!out)
        return -1;
    for (int64_t i = 0; known(out) && i < t->count; i++) {
        int64_t rest = i;

        if (dlt_onnx_element(t, i) == 0)
            continue;
        for (int d = t->rank; d-- > 0; rest /= t->dim[d])
            dlt_onnx_set_element(out, d * dim[1] + at, 0, rest % t->dim[d]);
        at++;
    }
    return bind(b, out, value->literal);
}

/* Of constants, a constant of the same shape that nothing needs to know. */
static int fold_same_shape(struct dlt_onnx_build *b)
{
    const struct dlt_onnx_value *value = dlt_onnx_input(b, 0);

    if (!value)
        return 0;
    return bind(b,
                dlt_onnx_constant(b, value->constant->type, value->constant->rank,
                                  value->constant->dim, false),
                value->literal);
}

static const struct {
    const char *op;
    int (*fold)(struct dlt_onnx_build *);
    bool of_anything; /* else of constants alone */
} folds[] = {
    {"Constant", fold_constant, true},
    {"Shape", fold_shape, true},
    {"Size", fold_size, true},
    {"ConstantOfShape", fold_fill, true},
    {"Range", fold_range, false},
    {"Where", fold_where, false},
    {"ReduceProd", fold_reduce, false},
    {"ReduceSum", fold_reduce, false},
    {"ReduceMax", fold_reduce, false},
    {"ReduceMin", fold_reduce, false},
    {"NonZero", fold_nonzero, false},
    {"Trilu", fold_same_shape, false},
    {"CumSum", fold_same_shape, false},
    {"ScatterND", fold_same_shape, false},
    {"ScatterElements", fold_same_shape, false},
    {"EyeLike", fold_same_shape, false},
    {"IsNaN", fold_same_shape, false},
    {"Clip", fold_same_shape, false},
};

int dlt_onnx_fold(struct dlt_onnx_build *b)
{
    const char *op = b->node->op;
    bool constant = all_constant(b);
    const struct dlt_onnx_binary *binary;
    const struct dlt_onnx_unary *unary;

    if (*b->node->domain)
        return 0;
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++)
        if ((constant || folds[i].of_anything) && strcmp(folds[i].op, op) == 0)
            return folds[i].fold(b);
    binary = constant ? dlt_onnx_find_binary(op) : NULL;
    if (binary)
        return fold_binary(b, binary);
    unary = constant ? dlt_onnx_find_unary(op) : NULL;
    return unary ? fold_unary(b, unary) : 0;
}

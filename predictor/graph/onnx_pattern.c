/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/onnx_pattern.h"

#include <string.h>

static const struct dlt_onnx_node *made(const struct dlt_onnx_map *m, int name, const char *op)
{
    const struct dlt_onnx_node *n;

    if (name < 0 || m->maker[name] < 0)
        return NULL;
    n = &m->graph->node[m->maker[name]];
    return strcmp(n->op, op) == 0 && !*n->domain && n->output_count > 0 && n->output[0] == name
               ? n
               : NULL;
}

static int in(const struct dlt_onnx_node *n, size_t k)
{
    return n && k < n->input_count ? n->input[k] : -1;
}

/* The one node that reads a value, if it is of that operator. */
static const struct dlt_onnx_node *only_use(const struct dlt_onnx_map *m, int name, const char *op)
{
    const struct dlt_onnx_node *n;

    if (name < 0 || m->uses[name] != 1 || m->first_use[name] < 0)
        return NULL;
    n = &m->graph->node[m->first_use[name]];
    return strcmp(n->op, op) == 0 && !*n->domain && n->output_count > 0 && n->output[0] >= 0 ? n
                                                                                             : NULL;
}

static int other(const struct dlt_onnx_node *n, int name)
{
    return in(n, 0) == name ? in(n, 1) : in(n, 0);
}

static int without_casts(const struct dlt_onnx_map *m, int name)
{
    const struct dlt_onnx_node *n;

    for (int i = 0; i < 4; i++) {
        n = made(m, name, "Cast");
        if (!n)
            n = made(m, name, "Identity");
        if (!n)
            return name;
        name = in(n, 0);
    }
    return name;
}

/* The initializer that a value is, seen through what does not change its elements; NULL: none. */
static const struct dlt_onnx_tensor *weight_of(const struct dlt_onnx_map *m, int name)
{
    name = without_casts(m, name);
    return name < 0 ? NULL : m->weight[name];
}

static void member(struct dlt_onnx_found *f, const struct dlt_onnx_node *n)
{
    for (size_t i = 0; i < f->members; i++)
        if (f->member[i] == n)
            return;
    if (n && f->members < DLT_ONNX_MEMBERS)
        f->member[f->members++] = n;
}

/* Casts between two members are members too. */
static void member_casts(const struct dlt_onnx_map *m, struct dlt_onnx_found *f, int from, int to)
{
    for (int name = from; name != to && name >= 0;) {
        const struct dlt_onnx_node *n = made(m, name, "Cast");

        if (!n && !(n = made(m, name, "Identity")))
            return;
        member(f, n);
        name = in(n, 0);
    }
}

/* Goes on over casts that nobody else reads. */
static int after_casts(const struct dlt_onnx_map *m, struct dlt_onnx_found *f, int name)
{
    const struct dlt_onnx_node *n;

    for (int i = 0; i < 2 && (n = only_use(m, name, "Cast")); i++) {
        member(f, n);
        name = n->output[0];
        f->last = n;
    }
    return name;
}

/* sqrt(mean(square) + eps): gives the name that is squared; -1: it is something else. */
static int deviation(const struct dlt_onnx_map *m, struct dlt_onnx_found *f, int name,
                     const struct dlt_onnx_node **mean)
{
    const struct dlt_onnx_node *root = made(m, name, "Sqrt"), *sum, *square;
    int x, side;

    if (!root || !(sum = made(m, in(root, 0), "Add")))
        return -1;
    for (size_t k = 0; k < 2; k++) {
        side = in(sum, k);
        if (!(*mean = made(m, side, "ReduceMean")))
            continue;
        square = made(m, in(*mean, 0), "Pow");
        if (!square) {
            square = made(m, in(*mean, 0), "Mul");
            if (!square || in(square, 0) != in(square, 1))
                continue;
        }
        x = without_casts(m, in(square, 0));
        member_casts(m, f, in(square, 0), x);
        member(f, root);
        member(f, sum);
        member(f, *mean);
        member(f, square);
        return x;
    }
    return -1;
}

/* scale and shift behind a norm, where they are one-dimensional weights. */
static void find_affine(const struct dlt_onnx_map *m, struct dlt_onnx_found *f, int name,
                        bool shift)
{
    const struct dlt_onnx_node *n;
    const struct dlt_onnx_tensor *w;

    name = after_casts(m, f, name);
    n = only_use(m, name, "Mul");
    w = n ? weight_of(m, other(n, name)) : NULL;
    if (!w || w->rank > 2)
        return;
    f->fusion.scale = other(n, name);
    member(f, n);
    f->last = n;
    name = n->output[0];
    n = shift ? only_use(m, name, "Add") : NULL;
    w = n ? weight_of(m, other(n, name)) : NULL;
    if (!w || w->rank > 2)
        return;
    f->fusion.bias = other(n, name);
    member(f, n);
    f->last = n;
}

/* (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * scale + bias */
static bool find_layer_norm(const struct dlt_onnx_map *m, const struct dlt_onnx_node *n,
                            struct dlt_onnx_found *f)
{
    const struct dlt_onnx_node *mean, *centred, *first;
    int squared = deviation(m, f, in(n, 1), &mean);

    centred = made(m, in(n, 0), "Sub");
    if (squared < 0 || !centred || !(first = made(m, in(centred, 1), "ReduceMean")) ||
        in(first, 0) != in(centred, 0))
        return false;
    if (squared != in(n, 0)) {
        const struct dlt_onnx_node *again = made(m, squared, "Sub");

        if (!again || in(again, 0) != in(centred, 0))
            return false;
        member(f, again);
        member(f, made(m, in(again, 1), "ReduceMean"));
    }
    member(f, first);
    member(f, centred);
    member(f, n);
    f->last = n;
    f->fusion.x = in(centred, 0);
    f->fusion.reduce = mean;
    find_affine(m, f, n->output[0], true);
    return true;
}

/* x / sqrt(mean(x^2) + eps) * scale, also as x * (1 / sqrt(...)) */
static bool find_rms_norm(const struct dlt_onnx_map *m, const struct dlt_onnx_node *n,
                          struct dlt_onnx_found *f)
{
    const struct dlt_onnx_node *mean = NULL, *inverse = NULL;
    int x = -1;

    if (strcmp(n->op, "Div") == 0) {
        x = in(n, 0);
        if (deviation(m, f, in(n, 1), &mean) != without_casts(m, x))
            return false;
    }
    for (size_t k = 0; k < 2 && !mean; k++) {
        inverse = made(m, in(n, k), "Reciprocal");
        if (!inverse)
            inverse = made(m, in(n, k), "Div");
        if (!inverse)
            continue;
        x = in(n, 1 - k);
        if (deviation(m, f, in(inverse, inverse->input_count - 1), &mean) != without_casts(m, x))
            return false;
    }
    if (!mean)
        return false;
    member(f, inverse);
    member(f, n);
    f->last = n;
    f->fusion.x = x;
    f->fusion.reduce = mean;
    find_affine(m, f, n->output[0], false);
    return true;
}

static bool find_norm(const struct dlt_onnx_map *m, const struct dlt_onnx_node *n,
                      struct dlt_onnx_found *f)
{
    struct dlt_onnx_found empty = *f;

    f->fusion.layer = "layer_norm";
    if (find_layer_norm(m, n, f))
        return true;
    *f = empty;
    f->fusion.layer = "rms_norm";
    return find_rms_norm(m, n, f);
}

/* name * x, or name * (x / 2); a factor of one half may follow. */
static bool find_gate(const struct dlt_onnx_map *m, struct dlt_onnx_found *f, int name, int x,
                      bool half)
{
    const struct dlt_onnx_node *n = only_use(m, name, "Mul"), *before;
    int side;

    if (!n)
        return false;
    member(f, n);
    f->last = n;
    side = other(n, name);
    before = made(m, side, "Mul");
    if (side != x && half && before && (in(before, 0) == x || in(before, 1) == x) &&
        m->uses[side] == 1) {
        member(f, before);
        return true;
    }
    if (side != x)
        return false;
    n = half ? only_use(m, n->output[0], "Mul") : NULL;
    if (n) {
        member(f, n);
        f->last = n;
    }
    return n || !half;
}

/* x * (1 + erf(x / sqrt(2))) / 2 */
static bool find_gelu(const struct dlt_onnx_map *m, const struct dlt_onnx_node *n,
                      struct dlt_onnx_found *f)
{
    const struct dlt_onnx_node *scaled = made(m, in(n, 0), "Div"), *plus;

    if (!scaled)
        scaled = made(m, in(n, 0), "Mul");
    plus = only_use(m, n->output[0], "Add");
    if (!scaled || !plus)
        return false;
    member(f, scaled);
    member(f, n);
    member(f, plus);
    f->fusion.layer = "gelu";
    f->fusion.x = in(scaled, 0);
    return find_gate(m, f, plus->output[0], f->fusion.x, true);
}

/* x^3, as a power or as products. */
static bool is_cube(const struct dlt_onnx_map *m, struct dlt_onnx_found *f, int name, int x)
{
    const struct dlt_onnx_node *n = made(m, name, "Pow"), *square;

    if (n && in(n, 0) == x) {
        member(f, n);
        return true;
    }
    n = made(m, name, "Mul");
    for (size_t k = 0; n && k < 2; k++) {
        square = made(m, in(n, k), "Mul");
        if (!square)
            square = made(m, in(n, k), "Pow");
        if (square && in(n, 1 - k) == x && in(square, 0) == x) {
            member(f, n);
            member(f, square);
            return true;
        }
    }
    return false;
}

/* x * (1 + tanh(c (x + 0.044715 x^3))) / 2 */
static bool find_tanh_gelu(const struct dlt_onnx_map *m, const struct dlt_onnx_node *n,
                           struct dlt_onnx_found *f)
{
    const struct dlt_onnx_node *scaled = made(m, in(n, 0), "Mul"), *sum = NULL, *term, *plus;

    for (size_t k = 0; scaled && !sum && k < 2; k++)
        sum = made(m, in(scaled, k), "Add");
    plus = only_use(m, n->output[0], "Add");
    for (size_t k = 0; sum && plus && k < 2; k++) {
        int x = in(sum, 1 - k);

        term = made(m, in(sum, k), "Mul");
        if (!term || (!is_cube(m, f, in(term, 0), x) && !is_cube(m, f, in(term, 1), x)))
            continue;
        member(f, scaled);
        member(f, sum);
        member(f, term);
        member(f, n);
        member(f, plus);
        f->fusion.layer = "gelu";
        f->fusion.x = x;
        return find_gate(m, f, plus->output[0], x, true);
    }
    return false;
}

/* x * softplus(x).tanh() */
static bool find_mish(const struct dlt_onnx_map *m, const struct dlt_onnx_node *n,
                      struct dlt_onnx_found *f)
{
    const struct dlt_onnx_node *softplus = made(m, in(n, 0), "Softplus");

    if (!softplus)
        return false;
    member(f, softplus);
    member(f, n);
    f->fusion.layer = "mish";
    f->fusion.x = in(softplus, 0);
    return find_gate(m, f, n->output[0], f->fusion.x, false);
}

static bool find_tanh(const struct dlt_onnx_map *m, const struct dlt_onnx_node *n,
                      struct dlt_onnx_found *f)
{
    struct dlt_onnx_found empty = *f;

    if (find_mish(m, n, f))
        return true;
    *f = empty;
    return find_tanh_gelu(m, n, f);
}

/* x * sigmoid(x), x * hardsigmoid(x) */
static bool find_swish(const struct dlt_onnx_map *m, const struct dlt_onnx_node *n,
                       struct dlt_onnx_found *f)
{
    f->fusion.layer = strcmp(n->op, "Sigmoid") == 0 ? "silu" : "hardswish";
    f->fusion.x = in(n, 0);
    member(f, n);
    return find_gate(m, f, n->output[0], f->fusion.x, false);
}

/* exp(x) / sum(exp(x)) */
static bool find_softmax(const struct dlt_onnx_map *m, const struct dlt_onnx_node *n,
                         struct dlt_onnx_found *f)
{
    const struct dlt_onnx_node *over = made(m, in(n, 0), "Exp"), *sum;

    sum = made(m, in(n, 1), "ReduceSum");
    if (!over || !sum || in(sum, 0) != in(n, 0))
        return false;
    member(f, over);
    member(f, sum);
    member(f, n);
    f->last = n;
    f->fusion.layer = "softmax";
    f->fusion.x = in(over, 0);
    f->fusion.reduce = sum;
    return true;
}

static bool find_division(const struct dlt_onnx_map *m, const struct dlt_onnx_node *n,
                          struct dlt_onnx_found *f)
{
    struct dlt_onnx_found empty = *f;

    if (find_softmax(m, n, f))
        return true;
    *f = empty;
    return find_norm(m, n, f);
}

/* A product with a weight, and a bias behind it. */
static bool find_dense(const struct dlt_onnx_map *m, const struct dlt_onnx_node *n,
                       struct dlt_onnx_found *f)
{
    const struct dlt_onnx_node *turned = made(m, without_casts(m, in(n, 1)), "Transpose");
    const struct dlt_onnx_node *sum = only_use(m, n->output[0], "Add");
    const struct dlt_onnx_tensor *w, *bias;

    w = weight_of(m, turned ? in(turned, 0) : in(n, 1));
    bias = sum ? weight_of(m, other(sum, n->output[0])) : NULL;
    if (!w || w->rank != 2 || !bias || bias->rank != 1)
        return false;
    member(f, n);
    member(f, sum);
    f->last = sum;
    f->fusion.layer = "dense";
    f->fusion.x = in(n, 0);
    f->fusion.scale = in(n, 1);
    f->fusion.bias = other(sum, n->output[0]);
    return true;
}

/* instance_norm over groups made by a Reshape, and scale and shift of the channels behind it. */
static bool find_group_norm(const struct dlt_onnx_map *m, const struct dlt_onnx_node *n,
                            struct dlt_onnx_found *f)
{
    const struct dlt_onnx_node *groups = made(m, in(n, 0), "Reshape"), *back, *scale, *shift;

    back = only_use(m, n->output[0], "Reshape");
    if (!groups || !back)
        return false;
    member(f, groups);
    member(f, n);
    member(f, back);
    f->last = back;
    f->fusion.layer = "group_norm";
    f->fusion.x = in(groups, 0);
    f->fusion.groups = in(n, 1);
    scale = only_use(m, back->output[0], "Mul");
    shift = scale ? only_use(m, scale->output[0], "Add") : NULL;
    if (!shift)
        return true;
    f->fusion.scale = other(scale, back->output[0]);
    f->fusion.bias = other(shift, scale->output[0]);
    member(f, scale);
    member(f, shift);
    f->last = shift;
    return true;
}

static const struct {
    const char *op; /* at which to look */
    bool (*find)(const struct dlt_onnx_map *, const struct dlt_onnx_node *,
                 struct dlt_onnx_found *);
} rules[] = {
    {"Div", find_division},  {"Mul", find_norm},
    {"Erf", find_gelu},      {"Tanh", find_tanh},
    {"Sigmoid", find_swish}, {"HardSigmoid", find_swish},
    {"MatMul", find_dense},  {"InstanceNormalization", find_group_norm},
};

/* A cast that has become a part of the layer is not there to be read: what it casts is. */
static void read_before_casts(const struct dlt_onnx_map *m, struct dlt_onnx_found *f)
{
    for (size_t i = 0; i < f->members; i++)
        if (f->member[i] == made(m, f->fusion.x, f->member[i]->op)) {
            f->fusion.x = without_casts(m, f->fusion.x);
            return;
        }
}

bool dlt_onnx_match(const struct dlt_onnx_map *m, const struct dlt_onnx_node *n, size_t rule,
                    struct dlt_onnx_found *f)
{
    if (strcmp(rules[rule].op, n->op) != 0 || !rules[rule].find(m, n, f))
        return false;
    read_before_casts(m, f);
    return f->fusion.x >= 0;
}

size_t dlt_onnx_rules(void)
{
    return sizeof rules / sizeof *rules;
}

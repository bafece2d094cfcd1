/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum as torch.einsum runs it: factors are taken from the left, two at a time; what only one of
 * them has and nobody needs is summed before, and the rest is a batch of matrix products, or a
 * product element by element where nothing is summed. */
#include <string.h>

#include "graph/onnx_layers.h"
#include "graph/op.h"

/* Letters, and the dimensions that an ellipsis stands for, counted from the last. */
enum { LETTERS = 'z' + 1, LABELS = LETTERS + DLT_RANK, MOST_TERMS = 64 };

/* A factor, or what has become of some: the label and the size of each dimension. */
struct term {
    struct dlt_onnx_value *value; /* NULL: a product */
    int tensor;                   /* of a parameter -1 until it is needed as a tensor */
    int rank;
    int label[DLT_RANK];
    int64_t dim[DLT_RANK];
};

static int fail_equation(struct dlt_onnx_build *b)
{
    return dlt_fail(b->error, "its equation \"%.80s\" does not fit its inputs",
                    dlt_onnx_word(b, "equation", ""));
}

static int place(const struct term *t, int label)
{
    for (int d = 0; d < t->rank; d++)
        if (t->label[d] == label)
            return d;
    return -1;
}

/* ---- the equation ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

/* The labels of one factor, or of the result, up to a comma, an arrow or the end. wide: dimensions
 * that an ellipsis stands for. Returns how many, or -1: no equation, or too many. */
static int read_labels(const char **text, int wide, int label[DLT_RANK])
{
    const char *p = skip_blanks(*text);
    int count = 0;

    while (*p && *p != ',' && *p != '-') {
        bool dots = strncmp(p, "...", 3) == 0;

        if ((!dots && !is_letter(*p)) || count + (dots ? wide : 1) > DLT_RANK)
            return -1;
        for (int d = wide; dots && d > 0; d--)
            label[count++] = LETTERS + d - 1;
        if (!dots)
            label[count++] = (unsigned char)*p;
        p = skip_blanks(p + (dots ? 3 : 1));
    }
    *text = p;
    return count;
}

/* How many dimensions the ellipsis of the next factor stands for; 0: it has none. */
static int ellipsis(const char *text, int rank)
{
    bool dots = false;

    for (; *text && *text != ',' && *text != '-'; text++) {
        rank -= is_letter(*text);
        dots |= *text == '.';
    }
    return dots && rank > 0 ? rank : 0;
}

static int read_factor(struct dlt_onnx_build *b, const char **text, size_t k, struct term *t,
                       int64_t size[LABELS], int *widest)
{
    struct dlt_onnx_tensor room;
    const struct dlt_onnx_tensor *x;
    int wide;

    t->value = dlt_onnx_input(b, k);
    if (!t->value)
        return dlt_fail(b->error, "its input %zu is left out", k);
    x = dlt_onnx_shape(b, t->value, &room);
    t->tensor = t->value->kind == DLT_ONNX_TENSOR ? t->value->tensor : -1;
    wide = ellipsis(*text, x->rank);
    t->rank = read_labels(text, wide, t->label);
    if (t->rank != x->rank)
        return fail_equation(b);
    *widest = wide > *widest ? wide : *widest;
    for (int d = 0; d < t->rank; d++) {
        int64_t *all = &size[t->label[d]];

        t->dim[d] = x->dim[d];
        if (*all > 1 && x->dim[d] > 1 && *all != x->dim[d])
            return fail_equation(b);
        *all = x->dim[d] > *all ? x->dim[d] : *all;
    }
    return 0;
}

/* Without an arrow: the ellipsis, then what stands once in all factors, by the alphabet. */
static int implied(const struct term *term, size_t terms, int widest, int label[DLT_RANK])
{
    int times[LETTERS] = {0}, count = 0;

    for (size_t k = 0; k < terms; k++)
        for (int d = 0; d < term[k].rank; d++)
            if (term[k].label[d] < LETTERS)
                times[term[k].label[d]]++;
    for (int d = widest; d > 0; d--)
        label[count++] = LETTERS + d - 1;
    for (int i = 0; i < LETTERS; i++)
        if (times[i] == 1 && count < DLT_RANK)
            label[count++] = i;
    return count;
}

/* ---- views ---- */

static int tensor_of(struct dlt_onnx_build *b, struct term *t)
{
    if (t->tensor < 0)
        t->tensor = dlt_onnx_tensor(b, t->value);
    return t->tensor;
}

static int view(struct dlt_onnx_build *b, enum dlt_onnx_given which, struct term *t)
{
    int x = tensor_of(b, t);

    t->tensor = x < 0 ? -1 : dlt_onnx_add_shaped(b, which, x, t->rank, t->dim);
    t->value = NULL;
    return t->tensor < 0 ? -1 : 0;
}

/* A label that stands twice is the diagonal; sizes of 1 become those of the other factors. */
static int straighten(struct dlt_onnx_build *b, struct term *t, const int64_t size[LABELS])
{
    struct term whole = *t;
    bool wider = false;

    t->rank = 0;
    for (int d = 0; d < whole.rank; d++) {
        int at = place(t, whole.label[d]);

        if (at >= 0 && t->dim[at] != whole.dim[d])
            return fail_equation(b);
        if (at >= 0)
            continue;
        t->label[t->rank] = whole.label[d];
        t->dim[t->rank++] = whole.dim[d];
    }
    if (t->rank != whole.rank && view(b, DLT_ONNX_GIVEN_SLICE, t))
        return -1;
    for (int d = 0; d < t->rank; d++) {
        wider |= t->dim[d] != size[t->label[d]];
        t->dim[d] = size[t->label[d]];
    }
    return wider ? view(b, DLT_ONNX_GIVEN_EXPAND, t) : 0;
}

/* Its dimensions in the order of these labels, all of which it has. */
static int arrange(struct dlt_onnx_build *b, struct term *t, const int *label, int count)
{
    struct term from = *t;
    bool same = true;

    t->rank = count;
    for (int d = 0; d < count; d++) {
        int at = place(&from, label[d]);

        same &= at == d;
        t->label[d] = label[d];
        t->dim[d] = from.dim[at];
    }
    return same ? 0 : view(b, DLT_ONNX_GIVEN_PERMUTE, t);
}

/* ---- sums and products ---- */

/* Sums over what only this factor has. */
static int sum_alone(struct dlt_onnx_build *b, struct term *t, const bool needed[LABELS])
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("sum");
    struct term all = *t;
    int64_t dims[DLT_RANK];
    size_t count = 0;
    int x;

    t->rank = 0;
    for (int d = 0; d < all.rank; d++) {
        if (!needed[all.label[d]]) {
            dims[count++] = d;
            continue;
        }
        t->label[t->rank] = all.label[d];
        t->dim[t->rank++] = all.dim[d];
    }
    if (count == 0)
        return 0;
    x = tensor_of(b, t);
    dlt_onnx_set_list(&layer, "dim", dims, count);
    t->tensor = x < 0 ? -1 : dlt_onnx_add(b, &layer, &x, 1);
    t->value = NULL;
    return t->tensor < 0 ? -1 : 0;
}

/* The labels of two factors: of both and needed later, of both and summed, of one alone. */
struct parts {
    int both[DLT_RANK], sum[DLT_RANK], left[DLT_RANK], right[DLT_RANK];
    int boths, sums, lefts, rights;
};

static void part(const struct term *a, const struct term *c, const bool later[LABELS],
                 struct parts *p)
{
    *p = (struct parts){.boths = 0};
    for (int d = 0; d < a->rank; d++) {
        if (place(c, a->label[d]) < 0)
            p->left[p->lefts++] = a->label[d];
        else if (later[a->label[d]])
            p->both[p->boths++] = a->label[d];
        else
            p->sum[p->sums++] = a->label[d];
    }
    for (int d = 0; d < c->rank; d++)
        if (place(a, c->label[d]) < 0)
            p->right[p->rights++] = c->label[d];
}

/* As [both] x rows x columns, without the first where there is none of it. */
static int as_matrices(struct dlt_onnx_build *b, struct term *t, const struct parts *p,
                       const int *rows, int row_count, const int *columns, int column_count)
{
    int order[2 * DLT_RANK], count = 0;
    struct term flat = {.rank = 0};

    for (int i = 0; i < p->boths; i++)
        order[count++] = p->both[i];
    for (int i = 0; i < row_count; i++)
        order[count++] = rows[i];
    for (int i = 0; i < column_count; i++)
        order[count++] = columns[i];
    if (arrange(b, t, order, count))
        return -1;
    flat.dim[0] = flat.dim[1] = flat.dim[2] = 1;
    for (int d = 0; d < count; d++)
        flat.dim[d < p->boths ? 0 : d < p->boths + row_count ? 1 : 2] *= t->dim[d];
    t->rank = 3;
    memcpy(t->dim, flat.dim, 3 * sizeof *t->dim);
    if (p->boths == 0) {
        t->rank = 2;
        memmove(t->dim, t->dim + 1, 2 * sizeof *t->dim);
    }
    return view(b, DLT_ONNX_GIVEN_RESHAPE, t);
}

/* A matrix of parameters is the weight of a dense layer. */
static int dense(struct dlt_onnx_build *b, struct term *a, const struct term *weight,
                 const struct parts *p)
{
    int64_t out = 1;

    for (int d = 0; d < weight->rank; d++)
        out *= place(a, weight->label[d]) < 0 ? weight->dim[d] : 1;
    if (out > INT32_MAX)
        return dlt_fail(b->error, "%lld output features", (long long)out);
    if (as_matrices(b, a, p, p->left, p->lefts, p->sum, p->sums))
        return -1;
    return dlt_onnx_dense(b, a->tensor, weight->value, NULL, out);
}

static int matrices(struct dlt_onnx_build *b, struct term *a, struct term *c, const struct parts *p)
{
    int side[2], out;

    if (as_matrices(b, a, p, p->left, p->lefts, p->sum, p->sums) ||
        as_matrices(b, c, p, p->sum, p->sums, p->right, p->rights))
        return -1;
    side[0] = a->tensor;
    side[1] = c->tensor;
    return dlt_onnx_product(b, side, &out);
}

/* Nothing is summed: both with all dimensions, of size 1 where a factor has none. */
static int elements(struct dlt_onnx_build *b, struct term *a, struct term *c,
                    const struct term *result)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("mul");
    struct term *side[2] = {a, c};
    int input[2];

    for (int i = 0; i < 2; i++) {
        struct term wide = *result;
        int order[DLT_RANK], count = 0;

        for (int d = 0; d < result->rank; d++) {
            int at = place(side[i], result->label[d]);

            if (at >= 0)
                order[count++] = result->label[d];
            wide.dim[d] = at >= 0 ? side[i]->dim[at] : 1;
        }
        if (arrange(b, side[i], order, count))
            return -1;
        if (count < result->rank) {
            wide.tensor = tensor_of(b, side[i]);
            if (wide.tensor < 0 || view(b, DLT_ONNX_GIVEN_RESHAPE, &wide))
                return -1;
            *side[i] = wide;
        }
        if ((input[i] = tensor_of(b, side[i])) < 0)
            return -1;
    }
    return dlt_onnx_add(b, &layer, input, 2);
}

/* *a becomes the product of both. */
static int multiply(struct dlt_onnx_build *b, struct term *a, struct term *c,
                    const bool later[LABELS], const int64_t size[LABELS])
{
    struct term result = {.rank = 0};
    struct parts p;

    /* A weight stands behind what it multiplies. */
    if (dlt_onnx_is_parameter(a->value) && !dlt_onnx_is_parameter(c->value)) {
        struct term first = *a;

        *a = *c;
        *c = first;
    }
    part(a, c, later, &p);
    if (p.boths + p.lefts + p.rights > DLT_RANK)
        return dlt_fail(b->error, "more than %d dimensions", DLT_RANK);
    for (int i = 0; i < p.boths; i++)
        result.label[result.rank++] = p.both[i];
    for (int i = 0; i < p.lefts; i++)
        result.label[result.rank++] = p.left[i];
    for (int i = 0; i < p.rights; i++)
        result.label[result.rank++] = p.right[i];
    for (int d = 0; d < result.rank; d++)
        result.dim[d] = size[result.label[d]];
    if (p.sums == 0)
        result.tensor = elements(b, a, c, &result);
    else if (p.boths == 0 && dlt_onnx_is_parameter(c->value) && !dlt_onnx_is_parameter(a->value))
        result.tensor = dense(b, a, c, &p);
    else
        result.tensor = matrices(b, a, c, &p);
    if (result.tensor < 0 || (p.sums > 0 && view(b, DLT_ONNX_GIVEN_RESHAPE, &result)))
        return -1;
    *a = result;
    return 0;
}

/* ---- the node ---- */

/* needed: the labels of the result and of the factors from `from` on. */
static void note_needed(const struct term *term, size_t from, size_t terms, bool needed[LABELS])
{
    for (size_t k = from; k < terms; k++)
        for (int d = 0; d < term[k].rank; d++)
            needed[term[k].label[d]] = true;
}

static int contract(struct dlt_onnx_build *b, struct term *term, size_t terms, const int *label,
                    int labels, const int64_t size[LABELS])
{
    for (size_t k = 0; k < terms; k++) {
        bool needed[LABELS] = {false};

        for (int i = 0; i < labels; i++)
            needed[label[i]] = true;
        note_needed(term, k + 1, terms, needed);
        if (straighten(b, &term[k], size))
            return -1;
        if (k > 0) {
            bool with_first[LABELS];

            memcpy(with_first, needed, sizeof needed);
            note_needed(term, 0, 1, with_first);
            if (sum_alone(b, &term[k], with_first) || multiply(b, &term[0], &term[k], needed, size))
                return -1;
        } else if (sum_alone(b, &term[0], needed)) {
            return -1;
        }
    }
    for (int i = 0; i < labels; i++)
        if (place(&term[0], label[i]) < 0)
            return fail_equation(b);
    return labels == term[0].rank ? arrange(b, &term[0], label, labels) : fail_equation(b);
}

int dlt_onnx_einsum(struct dlt_onnx_build *b)
{
    const char *text = dlt_onnx_word(b, "equation", "");
    size_t terms = b->node->input_count;
    int64_t size[LABELS] = {0};
    int label[DLT_RANK], labels, widest = 0;
    struct term term[MOST_TERMS];

    if (*b->node->domain || strcmp(b->node->op, "Einsum") != 0)
        return 0;
    if (terms < 1 || terms > MOST_TERMS)
        return dlt_fail(b->error, "has %zu inputs; 1 to %d are understood", terms, MOST_TERMS);
    for (size_t k = 0; k < terms; k++) {
        bool last = k + 1 == terms;

        if (read_factor(b, &text, k, &term[k], size, &widest))
            return -1;
        if (*text == ',' ? last : !last)
            return fail_equation(b);
        text += !last;
    }
    if (text[0] == '-' && text[1] == '>') {
        text += 2;
        labels = read_labels(&text, widest, label);
    } else {
        labels = implied(term, terms, widest, label);
    }
    if (labels < 0 || *text)
        return fail_equation(b);
    if (contract(b, term, terms, label, labels, size))
        return -1;
    return dlt_onnx_bind(b, 0, tensor_of(b, &term[0])) ? -1 : 1;
}

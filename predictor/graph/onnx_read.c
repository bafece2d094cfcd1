/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, lists of numbers, and tensors without their data. */
#include "graph/onnx_read.h"

#include <math.h>
#include <string.h>

/* RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF. */
static bool is_utf8(const unsigned char *text)
{
    while (*text) {
        unsigned lead = *text++, tail = lead < 0x80   ? 0
                                        : lead < 0xc2 ? 9
                                        : lead < 0xe0 ? 1
                                        : lead < 0xf0 ? 2
                                        : lead < 0xf5 ? 3
                                                      : 9;

        if (tail == 9 || (lead == 0xe0 && *text < 0xa0) || (lead == 0xed && *text > 0x9f) ||
            (lead == 0xf0 && *text < 0x90) || (lead == 0xf4 && *text > 0x8f))
            return false;
        for (; tail > 0; tail--)
            if ((*text++ & 0xc0) != 0x80)
                return false;
    }
    return true;
}

int dlt_onnx_text(struct dlt_onnx_reader *r, const struct dlt_wire_field *field, const char **text)
{
    size_t size = (size_t)(field->end - field->begin);
    char *copy;

    if (size > DLT_ONNX_NAME)
        return dlt_fail(r->error, "byte %lld: a name of %zu bytes; %d is the most",
                        (long long)field->begin, size, DLT_ONNX_NAME);
    copy = dlt_onnx_alloc(r->arena, size + 1, 1, r->error);
    if (!copy)
        return -1;
    r->wire.at = field->begin;
    if (dlt_wire_read(&r->wire, field->end, copy, size, r->error))
        return -1;
    if (memchr(copy, '\0', size) || !is_utf8((const unsigned char *)copy))
        return dlt_fail(r->error, "byte %lld: a name that is not UTF-8 text: not ONNX, or damaged",
                        (long long)field->begin);
    *text = copy;
    return 0;
}

int dlt_onnx_bytes(struct dlt_onnx_reader *r, const struct dlt_wire_field *field, const char **text)
{
    enum { KEPT = 64 };
    size_t size = (size_t)(field->end - field->begin);
    char *copy = dlt_onnx_alloc(r->arena, KEPT + 1, 1, r->error);

    if (!copy)
        return -1;
    r->wire.at = field->begin;
    if (dlt_wire_read(&r->wire, field->end, copy, size < KEPT ? size : KEPT, r->error))
        return -1;
    r->wire.at = field->end;
    *text = copy;
    return 0;
}

static double real_from_half(uint64_t bits)
{
    int exponent = (int)(bits >> 10 & 0x1f);
    double fraction = (double)(bits & 0x3ff), value;

    if (exponent == 0x1f)
        value = fraction > 0 ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, -24);
    else
        value = ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

double dlt_onnx_real(uint64_t bits, int width)
{
    uint32_t half = (uint32_t)bits;
    double value;
    float single;

    if (width == 2)
        return real_from_half(bits);
    if (width == 4) {
        memcpy(&single, &half, sizeof single);
        return (double)single;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int append_one(struct dlt_onnx_reader *r, uint64_t bits, int width,
                      struct dlt_onnx_list *list)
{
    if (list->real) {
        if (dlt_onnx_grow(r->arena, &list->reals, list->count, sizeof *list->reals, &list->room,
                          r->error))
            return -1;
        list->reals[list->count++] = dlt_onnx_real(bits, width);
    } else {
        if (dlt_onnx_grow(r->arena, &list->ints, list->count, sizeof *list->ints, &list->room,
                          r->error))
            return -1;
        list->ints[list->count++] = (int64_t)bits;
    }
    return 0;
}

static uint64_t little_endian(const unsigned char *bytes, int width)
{
    uint64_t value = 0;

    for (int i = width; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

int dlt_onnx_append(struct dlt_onnx_reader *r, const struct dlt_wire_field *field, int width,
                    struct dlt_onnx_list *list)
{
    if (field->type != DLT_WIRE_BYTES)
        return append_one(r, field->value, width, list);
    r->wire.at = field->begin;
    while (r->wire.at < field->end) {
        unsigned char bytes[8] = {0};
        uint64_t bits;

        if (width == 0) {
            if (dlt_wire_varint(&r->wire, field->end, &bits, r->error))
                return -1;
        } else {
            if (dlt_wire_read(&r->wire, field->end, bytes, (size_t)width, r->error))
                return -1;
            bits = little_endian(bytes, width);
        }
        if (append_one(r, bits, width, list))
            return -1;
    }
    return 0;
}

int dlt_onnx_set_dims(struct dlt_onnx_reader *r, struct dlt_onnx_tensor *tensor,
                      const struct dlt_onnx_list *dims)
{
    const char *name = tensor->name >= 0 ? r->names->text[tensor->name] : "a constant";

    if (dims->count > DLT_RANK)
        return dlt_fail(r->error, "%.200s: %zu dimensions; %d is the most", name, dims->count,
                        DLT_RANK);
    tensor->rank = (int)dims->count;
    tensor->count = 1;
    for (size_t d = 0; d < dims->count; d++) {
        int64_t dim = dims->ints[d];

        if (dim < 0 || dim > INT32_MAX)
            return dlt_fail(r->error,
                            "%.200s: a dimension of %lld; they range from 0 to 2147483647", name,
                            (long long)dim);
        if (__builtin_mul_overflow(tensor->count, dim, &tensor->count) || tensor->count > INT64_C(1)
                                                                                              << 53)
            return dlt_fail(r->error, "%.200s: more than 2^53 elements", name);
        tensor->dim[d] = dim;
    }
    return 0;
}

/* How the elements of each TensorProto.DataType lie in raw_data. */
static const struct {
    int width; /* bytes; 0: not a number of whole bytes */
    bool real, is_signed;
} types[] = {
    [DLT_ONNX_FLOAT] = {4, true, true},
    [2] = {1, false, false},
    [3] = {1, false, true},
    [4] = {2, false, false},
    [5] = {2, false, true},
    [DLT_ONNX_INT32] = {4, false, true},
    [DLT_ONNX_INT64] = {8, false, true},
    [DLT_ONNX_BOOL] = {1, false, false},
    [DLT_ONNX_FLOAT16] = {2, true, true},
    [DLT_ONNX_DOUBLE] = {8, true, true},
    [12] = {4, false, false},
    [13] = {8, false, false},
    [DLT_ONNX_BFLOAT16] = {2, true, true},
    [17] = {1, true, true}, /* the four forms of float8 */
    [18] = {1, true, true},
    [19] = {1, true, true},
    [20] = {1, true, true},
};
enum { TYPES = sizeof types / sizeof *types };

bool dlt_onnx_type_is_real(int type)
{
    return type >= 0 && type < TYPES && types[type].real;
}

static bool is_kept(const struct dlt_onnx_tensor *t)
{
    if (t->type < 1 || t->type >= TYPES || types[t->type].width == 0 || t->count == 0)
        return false;
    if (types[t->type].real)
        return types[t->type].width > 1 && t->count <= DLT_ONNX_REALS;
    return t->count <= DLT_ONNX_INTS;
}

static int64_t integer_of(uint64_t bits, int width, bool is_signed)
{
    unsigned shift = 64 - 8 * (unsigned)width;

    if (!is_signed || shift == 0)
        return (int64_t)bits;
    return (int64_t)(bits << shift) >> shift;
}

static double real_of(uint64_t bits, int type)
{
    if (type == DLT_ONNX_BFLOAT16)
        return dlt_onnx_real(bits << 16, 4);
    return dlt_onnx_real(bits, types[type].width);
}

static int keep_raw(struct dlt_onnx_reader *r, int64_t begin, int64_t end,
                    struct dlt_onnx_tensor *t)
{
    int width = types[t->type].width;
    int64_t *ints = NULL;
    double *reals = NULL;

    if (types[t->type].real)
        t->reals = reals = dlt_onnx_alloc(r->arena, (size_t)t->count, sizeof *reals, r->error);
    else
        t->ints = ints = dlt_onnx_alloc(r->arena, (size_t)t->count, sizeof *ints, r->error);
    if (!ints && !reals)
        return -1;
    r->wire.at = begin;
    for (int64_t i = 0; i < t->count; i++) {
        unsigned char bytes[8] = {0};
        uint64_t bits;

        if (dlt_wire_read(&r->wire, end, bytes, (size_t)width, r->error))
            return -1;
        bits = little_endian(bytes, width);
        if (reals)
            reals[i] = real_of(bits, t->type);
        else
            ints[i] = integer_of(bits, width, types[t->type].is_signed);
    }
    return 0;
}

/* Elements that came in a field of their own type. Half types come as the bits of integers. */
static int keep_list(struct dlt_onnx_reader *r, const struct dlt_onnx_list *list,
                     struct dlt_onnx_tensor *t)
{
    double *reals;

    if (list->count != (size_t)t->count)
        return 0;
    if (list->real && types[t->type].real)
        t->reals = list->reals;
    if (!list->real && !types[t->type].real)
        t->ints = list->ints;
    if (list->real || !types[t->type].real)
        return 0;
    t->reals = reals = dlt_onnx_alloc(r->arena, list->count, sizeof *reals, r->error);
    if (!reals)
        return -1;
    for (size_t i = 0; i < list->count; i++)
        reals[i] = real_of((uint64_t)list->ints[i], t->type);
    return 0;
}

/* What of a TensorProto is needed once all of it was seen: fields come in any order. */
struct parts {
    struct dlt_onnx_list dims, ints, reals;
    int64_t raw_begin, raw_end; /* -1: none */
    bool external;
};

/* A run of numbers is only kept while it is short enough to matter. */
static int append_data(struct dlt_onnx_reader *r, const struct dlt_wire_field *f, int width,
                       struct dlt_onnx_list *list)
{
    if (f->type == DLT_WIRE_BYTES && f->end - f->begin > 10 * DLT_ONNX_INTS)
        list->count = DLT_ONNX_INTS + 1;
    if (list->count > DLT_ONNX_INTS)
        return 0;
    return dlt_onnx_append(r, f, width, list);
}

static int read_field(struct dlt_onnx_reader *r, const struct dlt_wire_field *f,
                      struct dlt_onnx_tensor *t, struct parts *p)
{
    const char *name = "";

    switch (f->number) {
    case 1:
        return p->dims.count > DLT_RANK ? 0 : dlt_onnx_append(r, f, 0, &p->dims);
    case 2:
        t->type = f->value < 256 ? (int)f->value : 0;
        return 0;
    case 4:
        return append_data(r, f, 4, &p->reals);
    case 5:
    case 7:
    case 11:
        return append_data(r, f, 0, &p->ints);
    case 8:
        if (f->type != DLT_WIRE_BYTES || dlt_onnx_text(r, f, &name))
            return f->type != DLT_WIRE_BYTES ? 0 : -1;
        t->name = dlt_onnx_number(r->names, r->arena, name, r->error);
        return t->name < 0 ? -1 : 0;
    case 9:
        if (f->type == DLT_WIRE_BYTES) {
            p->raw_begin = f->begin;
            p->raw_end = f->end;
        }
        return 0;
    case 10:
        return append_data(r, f, 8, &p->reals);
    case 14:
        p->external = f->value == 1;
        return 0;
    default:
        return 0;
    }
}

static int finish(struct dlt_onnx_reader *r, struct dlt_onnx_tensor *t, const struct parts *p)
{
    int width = t->type > 0 && t->type < TYPES ? types[t->type].width : 0;
    int64_t raw = p->raw_end - p->raw_begin;

    if (p->external)
        return 0;
    if (p->raw_begin >= 0 && width > 0 && raw != t->count * width)
        return dlt_fail(r->error, "%.200s: %lld bytes of data where its shape needs %lld",
                        t->name >= 0 ? r->names->text[t->name] : "a constant", (long long)raw,
                        (long long)(t->count * width));
    if (!is_kept(t))
        return 0;
    if (p->raw_begin >= 0)
        return keep_raw(r, p->raw_begin, p->raw_end, t);
    if (p->reals.count > 0)
        return keep_list(r, &p->reals, t);
    return p->ints.count > 0 ? keep_list(r, &p->ints, t) : 0;
}

int dlt_onnx_read_tensor(struct dlt_onnx_reader *r, const struct dlt_wire_field *field,
                         struct dlt_onnx_tensor *tensor)
{
    struct parts p = {.reals.real = true, .raw_begin = -1, .raw_end = -1};
    struct dlt_wire_field f;
    int more;

    *tensor = (struct dlt_onnx_tensor){.name = -1};
    r->wire.at = field->begin;
    while ((more = dlt_wire_next(&r->wire, field->end, &f, r->error)) > 0) {
        int64_t next = r->wire.at;

        if (read_field(r, &f, tensor, &p))
            return -1;
        r->wire.at = next;
    }
    if (more || dlt_onnx_set_dims(r, tensor, &p.dims) || finish(r, tensor, &p))
        return -1;
    r->wire.at = field->end;
    return 0;
}

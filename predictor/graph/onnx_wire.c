/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/onnx_wire.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void dlt_wire_init(struct dlt_wire *wire, int fd)
{
    wire->fd = fd;
    wire->at = wire->begin = 0;
    wire->held = 0;
}

/* Makes the byte at wire->at the first of the buffer. */
static int fill(struct dlt_wire *w, struct dlt_error *error)
{
    ssize_t got;

    do
        got = pread(w->fd, w->buffer, sizeof w->buffer, w->at);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return dlt_fail(error, "byte %lld: %s", (long long)w->at, strerror(errno));
    if (got == 0)
        return dlt_fail(error, "byte %lld: the file ends here, in the middle of the model",
                        (long long)w->at);
    w->begin = w->at;
    w->held = (size_t)got;
    return 0;
}

/* How many bytes from wire->at on the buffer has; at least one. 0: error. */
static size_t available(struct dlt_wire *w, struct dlt_error *error)
{
    if (w->at < w->begin || w->at >= w->begin + (int64_t)w->held)
        if (fill(w, error))
            return 0;
    return w->held - (size_t)(w->at - w->begin);
}

int dlt_wire_varint(struct dlt_wire *w, int64_t end, uint64_t *value, struct dlt_error *error)
{
    int64_t start = w->at;

    *value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        unsigned char byte;

        if (w->at >= end)
            return dlt_fail(error, "byte %lld: a number runs past the end of its message",
                            (long long)start);
        if (!available(w, error))
            return -1;
        byte = w->buffer[w->at++ - w->begin];
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return 0;
    }
    return dlt_fail(error, "byte %lld: a number of more than ten bytes: not ONNX, or damaged",
                    (long long)start);
}

int dlt_wire_read(struct dlt_wire *w, int64_t end, void *to, size_t size, struct dlt_error *error)
{
    unsigned char *out = to;

    if (end - w->at < (int64_t)size)
        return dlt_fail(error, "byte %lld: a value runs past the end of its message",
                        (long long)w->at);
    while (size > 0) {
        size_t part = available(w, error);

        if (part == 0)
            return -1;
        if (part > size)
            part = size;
        memcpy(out, w->buffer + (w->at - w->begin), part);
        w->at += (int64_t)part;
        out += part;
        size -= part;
    }
    return 0;
}

/* Little-endian, as the format has it, whatever this machine is. */
static int read_fixed(struct dlt_wire *w, int64_t end, size_t size, uint64_t *value,
                      struct dlt_error *error)
{
    unsigned char bytes[8];

    if (dlt_wire_read(w, end, bytes, size, error))
        return -1;
    *value = 0;
    for (size_t i = size; i-- > 0;)
        *value = *value << 8 | bytes[i];
    return 0;
}

static int read_extent(struct dlt_wire *w, int64_t end, struct dlt_wire_field *field,
                       struct dlt_error *error)
{
    int64_t start = w->at;
    uint64_t length;

    if (dlt_wire_varint(w, end, &length, error))
        return -1;
    if (length > (uint64_t)(end - w->at))
        return dlt_fail(error,
                        "byte %lld: a field of %llu bytes where its message has %lld left: the "
                        "file is cut short, damaged or not ONNX",
                        (long long)start, (unsigned long long)length, (long long)(end - w->at));
    field->begin = w->at;
    field->end = w->at + (int64_t)length;
    w->at = field->end;
    return 0;
}

int dlt_wire_next(struct dlt_wire *w, int64_t end, struct dlt_wire_field *field,
                  struct dlt_error *error)
{
    int64_t start = w->at;
    uint64_t tag;

    if (w->at >= end)
        return 0;
    *field = (struct dlt_wire_field){0};
    if (dlt_wire_varint(w, end, &tag, error))
        return -1;
    field->number = (uint32_t)(tag >> 3);
    field->type = (enum dlt_wire_type)(tag & 7);
    if (field->number == 0 || tag >> 3 > 0x1fffffff)
        return dlt_fail(error, "byte %lld: no field of a message: not ONNX, or damaged",
                        (long long)start);
    switch (field->type) {
    case DLT_WIRE_VARINT:
        return dlt_wire_varint(w, end, &field->value, error) ? -1 : 1;
    case DLT_WIRE_64:
        return read_fixed(w, end, 8, &field->value, error) ? -1 : 1;
    case DLT_WIRE_32:
        return read_fixed(w, end, 4, &field->value, error) ? -1 : 1;
    case DLT_WIRE_BYTES:
        return read_extent(w, end, field, error) ? -1 : 1;
    }
    return dlt_fail(error, "byte %lld: a field of unknown type %u: not ONNX, or damaged",
                    (long long)start, (unsigned)field->type);
}

/*
 * onnx_wire.h - the wire format of protocol buffers, read from a seekable file through one small
 * buffer.
 *
 * A message is a run of fields; a field of bytes is told by where it lies and only read if asked
 * for, so that gigabytes of weights are passed by without being touched. Nothing is allocated.
 * Format: https://protobuf.dev/programming-guides/encoding/
 */
#ifndef DLT_GRAPH_ONNX_WIRE_H
#define DLT_GRAPH_ONNX_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { DLT_WIRE_BUFFER = 16384 };

struct dlt_wire {
    int fd;
    int64_t at;    /* the next byte to be read */
    int64_t begin; /* where in the file the buffer begins */
    size_t held;
    unsigned char buffer[DLT_WIRE_BUFFER];
};

enum dlt_wire_type { DLT_WIRE_VARINT = 0, DLT_WIRE_64 = 1, DLT_WIRE_BYTES = 2, DLT_WIRE_32 = 5 };

struct dlt_wire_field {
    uint32_t number;
    enum dlt_wire_type type;
    uint64_t value;     /* of a varint, or the bits of a 32- or 64-bit number */
    int64_t begin, end; /* where the bytes lie */
};

/* fd stays the caller's; it must be a regular file. */
void dlt_wire_init(struct dlt_wire *wire, int fd);

/* The next field of the message that ends at `end`: 1; 0 at its end; -1 with a sentence that names
 * the byte. The bytes of a field are passed by: what follows is the next field. */
int dlt_wire_next(struct dlt_wire *wire, int64_t end, struct dlt_wire_field *field,
                  struct dlt_error *error);

/* One number of a packed field, at wire->at: 0 or -1. */
int dlt_wire_varint(struct dlt_wire *wire, int64_t end, uint64_t *value, struct dlt_error *error);

/* `size` bytes from wire->at on: 0 or -1. */
int dlt_wire_read(struct dlt_wire *wire, int64_t end, void *to, size_t size,
                  struct dlt_error *error);

#endif

/* onnx_file.h - ONNX files of any size to a stream. */
#ifndef DLT_TESTS_BENCH_ONNX_FILE_H
#define DLT_TESTS_BENCH_ONNX_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void onnx_varint(FILE *out, unsigned long value)
{
    for (; value > 0x7f; value >>= 7)
        fputc((int)(value & 0x7f) | 0x80, out);
    fputc((int)value, out);
}

static inline void onnx_number(FILE *out, unsigned field, unsigned long value)
{
    onnx_varint(out, field << 3);
    onnx_varint(out, value);
}

static inline void onnx_bytes(FILE *out, unsigned field, const void *data, size_t size)
{
    onnx_varint(out, field << 3 | 2);
    onnx_varint(out, size);
    fwrite(data, 1, size, out);
}

/* What `write` puts into a message, as a field of another. */
static inline void onnx_message(FILE *out, unsigned field, void (*write)(FILE *, int), int which)
{
    char *data = NULL;
    size_t size = 0;
    FILE *inner = open_memstream(&data, &size);

    if (!inner)
        return;
    write(inner, which);
    fclose(inner);
    onnx_bytes(out, field, data, size);
    free(data);
}

/* "x12" */
static inline void onnx_name(FILE *out, unsigned field, const char *what, int number)
{
    char text[32];

    snprintf(text, sizeof text, "%s%d", what, number);
    onnx_bytes(out, field, text, strlen(text));
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/onnx_names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 65536, ALIGN = 16 };

struct dlt_onnx_chunk {
    struct dlt_onnx_chunk *before;
    size_t size;
    _Alignas(ALIGN) unsigned char bytes[];
};

void *dlt_onnx_alloc(struct dlt_onnx_arena *arena, size_t count, size_t size,
                     struct dlt_error *error)
{
    struct dlt_onnx_chunk *chunk = arena->chunk;
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes) || bytes > DLT_ONNX_MEMORY - arena->total) {
        dlt_fail(error, "describing this network takes more than %zu MiB of memory",
                 DLT_ONNX_MEMORY >> 20);
        return NULL;
    }
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!chunk || chunk->size - arena->used < bytes) {
        size_t room = bytes > CHUNK ? bytes : CHUNK;

        chunk = calloc(1, sizeof *chunk + room);
        if (!chunk) {
            dlt_fail_memory(error);
            return NULL;
        }
        chunk->before = arena->chunk;
        chunk->size = room;
        arena->chunk = chunk;
        arena->used = 0;
        arena->total +=
            room < DLT_ONNX_MEMORY - arena->total ? room : DLT_ONNX_MEMORY - arena->total;
    }
    arena->used += bytes;
    return chunk->bytes + arena->used - bytes;
}

int dlt_onnx_grow(struct dlt_onnx_arena *arena, void *array, size_t count, size_t size,
                  size_t *room, struct dlt_error *error)
{
    void **memory = array;
    size_t wanted = *room ? *room * 2 : 4;
    void *larger;

    if (count < *room)
        return 0;
    larger = dlt_onnx_alloc(arena, wanted, size, error);
    if (!larger)
        return -1;
    if (count > 0)
        memcpy(larger, *memory, count * size);
    *memory = larger;
    *room = wanted;
    return 0;
}

void dlt_onnx_release(struct dlt_onnx_arena *arena)
{
    while (arena->chunk) {
        struct dlt_onnx_chunk *chunk = arena->chunk;

        arena->chunk = chunk->before;
        free(chunk);
    }
    *arena = (struct dlt_onnx_arena){0};
}

/* FNV-1a with a final mix, so that its low bits depend on all of the text. */
static size_t hash(const char *text)
{
    uint64_t h = 1469598103934665603U;

    while (*text)
        h = (h ^ (unsigned char)*text++) * 1099511628211U;
    h ^= h >> 32;
    return (size_t)(h * 0x9e3779b97f4a7c15U >> 20);
}

static int enlarge(struct dlt_onnx_names *names, struct dlt_error *error)
{
    size_t slots = names->slots ? names->slots * 2 : 256;
    int *slot = calloc(slots, sizeof *slot);

    if (!slot)
        return dlt_fail_memory(error);
    for (size_t i = 0; i < names->count; i++) {
        size_t at = hash(names->text[i]) % slots;

        while (slot[at])
            at = (at + 1) % slots;
        slot[at] = (int)i + 1;
    }
    free(names->slot);
    names->slot = slot;
    names->slots = slots;
    return 0;
}

int dlt_onnx_number(struct dlt_onnx_names *names, struct dlt_onnx_arena *arena, const char *text,
                    struct dlt_error *error)
{
    size_t at;

    if (names->count * 2 >= names->slots && enlarge(names, error))
        return -1;
    for (at = hash(text) % names->slots; names->slot[at]; at = (at + 1) % names->slots)
        if (strcmp(names->text[names->slot[at] - 1], text) == 0)
            return names->slot[at] - 1;
    if (dlt_onnx_grow(arena, &names->text, names->count, sizeof *names->text, &names->text_room,
                      error))
        return -1;
    names->text[names->count++] = text;
    names->slot[at] = (int)names->count;
    return (int)names->count - 1;
}

void dlt_onnx_names_close(struct dlt_onnx_names *names)
{
    free(names->slot);
    names->slot = NULL;
    names->slots = 0;
}

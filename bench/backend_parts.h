/*
 * backend_parts.h - what every backend is made of, whatever its device: objects that a context
 * owns, and passes that are run many times. The functions are dlbench's own; backends call back
 * into it.
 */
#ifndef DLBENCH_BACKEND_PARTS_H
#define DLBENCH_BACKEND_PARTS_H

#include "backend.h"

/* Objects that live until a context is reset. Zero-initialise. */
struct bench_owned {
    struct bench_owned_object {
        void *object;
        void (*destroy)(void *);
    } * item;
    size_t count, room;
};

/* Takes an object over. Returns 0, or -1 out of memory: then the object is destroyed at once. */
int bench_own(struct bench_owned *owned, void *object, void (*destroy)(void *),
              struct dlt_error *error);
/* Zeroed memory that is owned; NULL after filling the error. */
void *bench_own_zeroed(struct bench_owned *owned, size_t count, size_t size,
                       struct dlt_error *error);
/* Destroys all objects, the last first. */
void bench_own_none(struct bench_owned *owned);
/* The same, and frees the list. */
void bench_own_clear(struct bench_owned *owned);

/* Queues one pass of a layer on one of its sets of buffers. */
typedef int bench_execute_pass(struct bench_layer *layer, enum dlt_pass pass, int copy,
                               struct dlt_error *error);

/*
 * backend.h's run: the pass `iterations` times, BACKWARD as all passes of gradients, on the layer's
 * sets of buffers in turn from *next on.
 */
int bench_repeat(struct bench_layer *layer, enum dlt_pass pass, int64_t iterations, int copies,
                 int *next, bench_execute_pass *execute, struct dlt_error *error);

#endif

/*
 * plan.h - memory that is shared by what is never alive together in a training step: which buffers
 * are alive when, and where each goes in one piece of memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * It knows no device and no library. A backend embeds an extent in each of its buffers, says which
 * passes of which layers touch it, and gives it memory where the plan has placed it. The functions
 * are dlbench's own; backends call back into it.
 */
#ifndef DLBENCH_PLAN_H
#define DLBENCH_PLAN_H

#include "base/error.h"
#include "graph/record.h"

/* One buffer. Views of it are the same extent. */
struct bench_extent {
    void *buffer;    /* the backend's */
    size_t size;     /* bytes, in the steps that the backend aligns to */
    int first, last; /* moments of a step between which it is alive; last < 0: never */
    bool apart;      /* has memory of its own: what lives from step to step, and views */
    size_t offset;   /* where the plan has placed it */
};

/* Zero-initialise. */
struct bench_plan {
    bool open;                    /* buffers that are made now are to be planned */
    int layers;                   /* made so far, which is the order in which they run */
    struct bench_extent **extent; /* in the order in which they were added */
    size_t count, room;
    double least_bytes; /* the most that is alive at once: no plan can go below */
    double sum_bytes;   /* of all: what they would take without a plan */
    double apart_bytes; /* the backend's: what it holds besides */
};

/* An extent that nothing has used yet. */
struct bench_extent bench_extent_of(void *buffer, size_t size);

/* Forgets what was planned, and opens it. */
void bench_plan_open(struct bench_plan *plan);
/* The extent has to stay where it is until the plan is cleared. BENCH_NO_MEMORY after filling the
 * error. */
int bench_plan_add(struct bench_plan *plan, struct bench_extent *extent, struct dlt_error *error);
/*
 * A pass of the layer that was made as number `order` touches it. A step runs forward in that order
 * (losses included), backward against it, then the updates; the passes of gradients of one layer
 * are one moment.
 */
void bench_plan_use(struct bench_extent *extent, int order, enum dlt_pass pass);
/*
 * Closes the plan and places all extents that are not apart, from the largest to the smallest, each
 * into the smallest gap among those that are alive with it (Pisarchyk and Lee 2020, arXiv
 * 2001.03288, "greedy by size"). bytes: what they take together. BENCH_NO_MEMORY after filling the
 * error.
 */
int bench_plan_place(struct bench_plan *plan, size_t *bytes, struct dlt_error *error);
/* Whether no two extents that are alive together share a byte. */
bool bench_plan_holds(const struct bench_plan *plan);
void bench_plan_clear(struct bench_plan *plan);

#endif

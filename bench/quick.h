/*
 * quick.h - the few configurations that tell most about a device.
 */
#ifndef DLBENCH_QUICK_H
#define DLBENCH_QUICK_H

#include "sampler.h"

struct bench_quick;

struct bench_quick_options {
    const char *path; /* the list of telling configurations; NULL: the shipped quick.jsonl */
    double peak;      /* FLOP/s of the device; NaN: unknown */
    double most_macs; /* of a telling configuration's forward pass: larger ones are made smaller */
    double most_bytes;
    int threads; /* written into the records */
};

/*
 * First the fixed ones: a large matrix product (what the device sustains, not what it does for a
 * moment) and one of a tenth of the work, a copy and a sum that outgrow the caches, and operators
 * of one element (what a launch costs). Then the file's rows, in its order: rows of measurements
 * without their times; those that follow each other and differ in the pass alone are one sample.
 * The sentence names the file and the line.
 */
int bench_quick_create(const struct bench_quick_options *options, struct bench_quick **quick,
                       struct dlt_error *error);
void bench_quick_destroy(struct bench_quick *quick);

size_t bench_quick_count(const struct bench_quick *quick);
/* repeat_s: how long a repeat of it lasts where the whole has a minute; 0: as usual. */
const struct bench_sample *bench_quick_at(const struct bench_quick *quick, size_t index,
                                          double *repeat_s);

/* The two networks, as SPECs, that are trained for some steps on a device of that peak. */
enum { BENCH_QUICK_NETWORKS = 2 };
const char *bench_quick_network(double peak, int index);

#endif

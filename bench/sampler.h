/*
 * sampler.h - which configurations are measured.
 *
 * Sample i follows from the seed and i alone: neither from the clock nor from samples before it, so
 * that an interrupted run can be continued and a shorter run is the beginning of a longer one.
 * Operators take turns by weight, so that any beginning is a balanced training set; of each
 * operator every second sample is drawn around layers of shipped networks (small ones more often),
 * the others log-uniformly.
 */
#ifndef DLBENCH_SAMPLER_H
#define DLBENCH_SAMPLER_H

#include "graph/record.h"

enum { BENCH_SAMPLE_PASSES = 3 };

struct bench_sample {
    struct dlt_record record; /* cache says whether it is to be measured cold or warm */
    enum dlt_pass pass[BENCH_SAMPLE_PASSES];
    int pass_count;
    bool from_network;
};

struct bench_sampler_options {
    uint64_t seed;
    const char *ops; /* "conv2d,dense"; NULL: all */
    int threads;     /* written into the records */
    /* Of a forward pass, at the first sample; the limit doubles every 256 samples, three times, so
     * that short runs stay small and long ones reach large layers. */
    double most_macs;
    double most_bytes;  /* of a forward pass's tensors */
    const char *models; /* folder of networks; NULL: the shipped ones */
    bool types;         /* tf32, float16, bfloat16 and channels last as well, as GPUs have them */
};

struct bench_sampler;

/* Fails on an operator in `ops` that cannot be sampled, with the nearest name. Networks that cannot
 * be read are left out; with none, all samples are log-uniform. */
int bench_sampler_create(const struct bench_sampler_options *options,
                         struct bench_sampler **sampler, struct dlt_error *error);
void bench_sampler_destroy(struct bench_sampler *sampler);

/* Whether a list of operators (NULL: all) is one that can be sampled. */
int bench_sampler_check_ops(const char *ops, struct dlt_error *error);

void bench_sampler_at(const struct bench_sampler *sampler, uint64_t index,
                      struct bench_sample *sample);

/* One of many samples of the operator whose turn `index` is, of the largest size that there is;
 * candidate: from 0. Follows from the seed and the two numbers alone. */
void bench_sampler_candidate(const struct bench_sampler *sampler, uint64_t index, int candidate,
                             struct bench_sample *sample);

/* Networks that samples are drawn around. */
size_t bench_sampler_networks(const struct bench_sampler *sampler);

/* Operators that can be sampled. */
size_t bench_sampler_op_count(void);
const char *bench_sampler_op(size_t index);

#endif

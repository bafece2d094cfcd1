/*
 * exchange.h - what several devices pass to each other in a step, and the time that it adds.
 *
 * A ring moves (n - 1)/n of the bytes through its slowest link in each of its phases (Patarasuk and
 * Yuan 2009): one to scatter sums or to gather parts, two for an all-reduce. Traffic runs beside
 * the pass that makes or needs it, as far as that lasts.
 */
#ifndef DLT_PREDICT_EXCHANGE_H
#define DLT_PREDICT_EXCHANGE_H

#include "device/device.h"
#include "graph/model.h"

/* Where the ring runs. */
struct dlt_ring {
    int devices, nodes;
    const struct dlt_device *device;
    double node_bandwidth; /* bytes/s between nodes, in one direction; 0: 10e9, 100gbe */
};

/* Seconds that a gradient all-reduce adds to a step: nodes > 1: over the link between nodes;
 * devices on one node: over the device's interconnect, 12 GB/s where it is unknown. 0 for one
 * device. */
double dlt_run_all_reduce(double gradient_bytes, double backward_s, int devices, int nodes,
                          const struct dlt_device *device, double node_bandwidth);

/* What a step passes round. */
struct dlt_exchange {
    enum dlt_sharding sharding;
    double gradient_bytes, parameter_bytes; /* the second: with those that are frozen */
    double micro_steps;                     /* batches that are added up to one step */
    double forward_s, backward_s;           /* of each of them, on the device alone */
};

/*
 * Seconds that sharding takes beyond the all-reduce of a step whose gradients are added up on each
 * device first (Rajbhandari et al. 2020, arXiv 1910.02054, section 7; Zhao et al. 2023, arXiv
 * 2304.11277). G: bytes of gradients, P: of parameters, k: micro-steps.
 *     ddp           2 G: an all-reduce beside the last backward pass
 *     zero1         G scattered beside it; G of new parameters gathered after the update
 *     zero2         k G scattered, each beside its backward pass; G gathered after the update
 *     zero3, fsdp   k (2 P + G): gathered beside forward, and again beside backward, G scattered
 */
double dlt_exchange_sharding(const struct dlt_ring *ring, const struct dlt_exchange *exchange);

/* The same as a share of the all-reduce's bytes: 0 for ddp and zero1, 0.5 for fsdp of one
 * micro-step without frozen parameters. */
double dlt_exchange_more(const struct dlt_exchange *exchange);

#endif

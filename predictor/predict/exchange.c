/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/exchange.h"

#include <math.h>

#include "predict/interconnect.h"

/* Seconds of some phases of a ring, alone. */
static double phases_s(const struct dlt_ring *ring, double phases, double bytes)
{
    const double hop = 10e-6; /* latency from one device to the next */
    double others = ring->devices - 1, bandwidth;

    if (ring->devices < 2 || !(bytes > 0))
        return 0;
    if (ring->nodes > 1)
        bandwidth = ring->node_bandwidth > 0 ? ring->node_bandwidth : DLT_NODE_BANDWIDTH;
    else
        bandwidth =
            ring->device->interconnect_bandwidth > 0 ? ring->device->interconnect_bandwidth : 12e9;
    return phases * (others / ring->devices * bytes / bandwidth + others * hop);
}

/* What is left of them beside a pass. */
static double shown_s(const struct dlt_ring *ring, double phases, double bytes, double pass_s)
{
    /* Share of the pass that buckets travel beside: the last one waits for the first layer. */
    const double overlap = 0.8, least = 0.1;
    double seconds = phases_s(ring, phases, bytes);

    return fmax(seconds - overlap * pass_s, least * seconds);
}

double dlt_run_all_reduce(double gradient_bytes, double backward_s, int devices, int nodes,
                          const struct dlt_device *device, double node_bandwidth)
{
    const struct dlt_ring ring = {devices, nodes, device, node_bandwidth};

    return shown_s(&ring, 2, gradient_bytes, backward_s);
}

double dlt_exchange_sharding(const struct dlt_ring *ring, const struct dlt_exchange *x)
{
    double gradients = x->gradient_bytes, parameters = x->parameter_bytes;
    double plain = shown_s(ring, 2, gradients, x->backward_s);
    double scatter = shown_s(ring, 1, gradients, x->backward_s);
    double after = phases_s(ring, 1, gradients);
    double forward = shown_s(ring, 1, parameters, x->forward_s);
    double backward = shown_s(ring, 2, (gradients + parameters) / 2, x->backward_s);

    switch (x->sharding) {
    case DLT_ZERO1:
        return scatter + after - plain;
    case DLT_ZERO2:
        return x->micro_steps * scatter + after - plain;
    case DLT_ZERO3:
    case DLT_FSDP:
        return x->micro_steps * (forward + backward) - plain;
    default:
        return 0;
    }
}

double dlt_exchange_more(const struct dlt_exchange *x)
{
    double frozen = x->gradient_bytes > 0 ? x->parameter_bytes / x->gradient_bytes : 1;

    switch (x->sharding) {
    case DLT_ZERO2:
        return (x->micro_steps - 1) / 2;
    case DLT_ZERO3:
    case DLT_FSDP:
        return x->micro_steps * (frozen + 0.5) - 1;
    default:
        return 0;
    }
}

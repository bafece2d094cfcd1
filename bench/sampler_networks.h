/*
 * sampler_networks.h - layers of shipped networks, and draws around them.
 */
#ifndef DLBENCH_SAMPLER_NETWORKS_H
#define DLBENCH_SAMPLER_NETWORKS_H

#include "graph/record.h"

struct bench_networks;

/* Reads every network of a folder (NULL: the shipped ones) and lowers a training step of one
 * sample. Fails for want of memory only. */
int bench_networks_load(const char *folder, int threads, struct bench_networks **networks,
                        struct dlt_error *error);
void bench_networks_destroy(struct bench_networks *networks);
size_t bench_networks_count(const struct bench_networks *networks);

/*
 * Draws a network (small ones more often), one of its layers of that kind, and a batch; every
 * second time channels and image size are changed as well. Returns false where no network has such
 * a layer.
 */
bool bench_networks_draw(const struct bench_networks *networks, const struct dlt_record_kind *kind,
                         uint64_t *random, struct dlt_record *record);

#endif

/*
 * network.h - a network as layers of a backend: whole training steps on real buffers.
 */
#ifndef DLBENCH_NETWORK_H
#define DLBENCH_NETWORK_H

#include "graph/model.h"
#include "load.h"

struct bench_network;

/*
 * Builds the layers of a training step (forward, cross-entropy on every output, backward, update)
 * in the session's context, which has to be empty. model, graph and plan of the network stay owned
 * by it. The model's precision has to be float32.
 * Token ids are random, masks random numbers. Returns an enum bench_status; the sentence names the
 * layer. A network whose weights, gradients and optimizer states alone are more than the session
 * may take is refused before anything is allocated.
 */
int bench_network_create(const struct bench_session *session, const struct dlt_model *model,
                         int64_t batch, struct bench_network **network, struct dlt_error *error);
/* Frees the network and resets the context. */
void bench_network_destroy(struct bench_network *network);

/* Seconds of one step's parts; forward includes the loss. */
struct bench_step_times {
    double forward_s, backward_s, update_s;
};

/* Runs one training step and waits for it. */
int bench_network_step(struct bench_network *network, struct bench_step_times *times,
                       struct dlt_error *error);

/* Mean loss of the last step. */
double bench_network_loss(const struct bench_network *network);
/* Bytes that the backend holds for it, and the least that any plan could (0: unknown). */
double bench_network_memory(const struct bench_network *network);
double bench_network_least_memory(const struct bench_network *network);

/* Runs one more step, timing each operator; times add up over calls. Waits for each of them, so
 * that the sum is more than a step takes. */
int bench_network_profile(struct bench_network *network, struct dlt_error *error);

/* One node of the graph; the last one is the loss. Seconds of a step. */
struct bench_network_op {
    const char *name, *op;
    double forward_s, backward_s, update_s;
};
size_t bench_network_op_count(const struct bench_network *network);
struct bench_network_op bench_network_op_at(const struct bench_network *network, size_t index);

/* The learning rate of an untuned training: small, so that no network runs into infinities, whose
 * arithmetic may take another time. */
double bench_learning_rate(enum dlt_optimizer optimizer);

#endif

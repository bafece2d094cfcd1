/*
 * network.h - a small feed-forward network: its layout in memory and its forward pass.
 *
 * Layers width[0] -> width[1] -> ... -> width[layers]; SiLU after each but the last; the last has
 * one output. While it is trained, its parameters are floats, one layer after the other: weights
 * in x out, row-major, then biases. In a profile its weights are bytes, in the same order, that
 * count in steps of their output's largest weight / 127, and each layer has, in floats, the steps
 * and the biases of its outputs: a fourth of the size, and an error far below what networks miss
 * by anyway.
 */
#ifndef DLT_PREDICT_NETWORK_H
#define DLT_PREDICT_NETWORK_H

#include <stddef.h>
#include <stdint.h>

enum { DLT_NETWORK_LAYERS = 4, DLT_NETWORK_WIDTH = 256 };

/* Loops that pay are compiled for several instruction sets and chosen from at load time. */
#if defined __GNUC__ && !defined __clang__ && defined __x86_64__ &&                                \
    !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define DLT_VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define DLT_VECTORISED
#endif

struct dlt_network {
    int layers;
    int width[DLT_NETWORK_LAYERS + 1];
};

/* Parameters of the whole network; 0 if a width is out of range or the last is not 1. */
size_t dlt_network_parameters(const struct dlt_network *network);

/* Weights of the whole network, and floats beside them: a step and a bias for each output. */
size_t dlt_network_weights(const struct dlt_network *network);
size_t dlt_network_scales(const struct dlt_network *network);

/* Parameters as a profile keeps them; weight and scale have room for those counts. */
void dlt_network_round(const struct dlt_network *network, const float *parameters, int8_t *weight,
                       float *scale);

/* The reverse, but for what rounding lost; parameters has room for all. */
void dlt_network_restore(const struct dlt_network *network, const int8_t *weight,
                         const float *scale, float *parameters);

/* x / (1 + exp(-x)) for count numbers, in place: relative error below 1e-6, no library call. */
void dlt_silu(float *x, size_t count);

/* The output for one input of width[0] numbers. Processors that multiply and add in one rounding
 * differ from others in the last digits of a float, by about 1e-7. */
float dlt_network_run(const struct dlt_network *network, const int8_t *weight, const float *scale,
                      const float *input);

#endif

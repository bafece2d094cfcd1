/* SPDX-License-Identifier: Apache-2.0 */
#include "foreach.h"

#include <math.h>

/* What an operation's number is. */
enum scale { NUMBER, MINUS_RATE, MINUS_RATE_CORRECTED, ROOT_CORRECTED, DECAY };

struct operation {
    enum bench_foreach function;
    enum bench_register y, x, z;
    enum scale scale;
    double number;
};

#define W BENCH_REGISTER_WEIGHT
#define G BENCH_REGISTER_GRADIENT
#define A BENCH_REGISTER_FIRST
#define B BENCH_REGISTER_SECOND
#define S BENCH_REGISTER_SUM
#define F BENCH_REGISTER_FACTOR
#define ADAM_STEPS                                                                                 \
    {BENCH_FOREACH_LERP, A, A, G, NUMBER, 0.1}, {BENCH_FOREACH_SCALE, B, B, 0, NUMBER, 0.999},     \
        {BENCH_FOREACH_SQUARE, B, G, G, NUMBER, 0.001}, {BENCH_FOREACH_ROOT, S, B, 0, NUMBER, 0},  \
        {BENCH_FOREACH_SCALE, S, S, 0, ROOT_CORRECTED, 0},                                         \
        {BENCH_FOREACH_SHIFT, S, S, 0, NUMBER, 1e-8},                                              \
    {                                                                                              \
        BENCH_FOREACH_QUOTIENT, W, A, S, MINUS_RATE_CORRECTED, 0                                   \
    }

/* torch/optim's _multi_tensor_* functions (PyTorch 2), not capturable, with their defaults. */
static const struct {
    int count, extra;
    struct operation operation[BENCH_FOREACH_STEPS];
} lists[DLT_OPTIMIZERS] = {
    [DLT_SGD] = {1, 0, {{BENCH_FOREACH_ADD, W, W, G, MINUS_RATE, 0}}},
    [DLT_MOMENTUM] = {3,
                      0,
                      {{BENCH_FOREACH_SCALE, A, A, 0, NUMBER, 0.9},
                       {BENCH_FOREACH_ADD, A, A, G, NUMBER, 1},
                       {BENCH_FOREACH_ADD, W, W, A, MINUS_RATE, 0}}},
    [DLT_NESTEROV] = {4,
                      1,
                      {{BENCH_FOREACH_SCALE, A, A, 0, NUMBER, 0.9},
                       {BENCH_FOREACH_ADD, A, A, G, NUMBER, 1},
                       {BENCH_FOREACH_ADD, S, G, A, NUMBER, 0.9},
                       {BENCH_FOREACH_ADD, W, W, S, MINUS_RATE, 0}}},
    [DLT_ADAM] = {7, 1, {ADAM_STEPS}},
    [DLT_ADAMW] = {8, 1, {{BENCH_FOREACH_SCALE, W, W, 0, DECAY, 0.01}, ADAM_STEPS}},
    [DLT_ADAGRAD] = {5,
                     2,
                     {{BENCH_FOREACH_SQUARE, A, G, G, NUMBER, 1},
                      {BENCH_FOREACH_ROOT, S, A, 0, NUMBER, 0},
                      {BENCH_FOREACH_SHIFT, S, S, 0, NUMBER, 1e-10},
                      {BENCH_FOREACH_SCALE, F, G, 0, MINUS_RATE, 0},
                      {BENCH_FOREACH_QUOTIENT, W, F, S, NUMBER, 1}}},
    [DLT_ADADELTA] = {11,
                      2,
                      {{BENCH_FOREACH_SCALE, A, A, 0, NUMBER, 0.9},
                       {BENCH_FOREACH_SQUARE, A, G, G, NUMBER, 0.1},
                       {BENCH_FOREACH_SHIFT, S, B, 0, NUMBER, 1e-6},
                       {BENCH_FOREACH_ROOT, S, S, 0, NUMBER, 0},
                       {BENCH_FOREACH_SHIFT, F, A, 0, NUMBER, 1e-6},
                       {BENCH_FOREACH_ROOT, F, F, 0, NUMBER, 0},
                       {BENCH_FOREACH_DIV, S, S, F, NUMBER, 0},
                       {BENCH_FOREACH_MUL, S, S, G, NUMBER, 0},
                       {BENCH_FOREACH_SCALE, B, B, 0, NUMBER, 0.9},
                       {BENCH_FOREACH_SQUARE, B, S, S, NUMBER, 0.1},
                       {BENCH_FOREACH_ADD, W, W, S, MINUS_RATE, 0}}},
    [DLT_RMSPROP] = {5,
                     1,
                     {{BENCH_FOREACH_SCALE, A, A, 0, NUMBER, 0.99},
                      {BENCH_FOREACH_SQUARE, A, G, G, NUMBER, 0.01},
                      {BENCH_FOREACH_ROOT, S, A, 0, NUMBER, 0},
                      {BENCH_FOREACH_SHIFT, S, S, 0, NUMBER, 1e-8},
                      {BENCH_FOREACH_QUOTIENT, W, G, S, MINUS_RATE, 0}}},
};

int bench_foreach_extra(enum dlt_optimizer optimizer)
{
    return lists[optimizer].extra;
}

int bench_foreach_list(const struct bench_training *training, double correct1, double correct2,
                       struct bench_foreach_arguments step[BENCH_FOREACH_STEPS])
{
    const double rate = training->learning_rate;

    for (int i = 0; i < lists[training->optimizer].count; i++) {
        const struct operation *o = &lists[training->optimizer].operation[i];
        const double scale[] = {[NUMBER] = o->number,
                                [MINUS_RATE] = -rate,
                                [MINUS_RATE_CORRECTED] = -rate / correct1,
                                [ROOT_CORRECTED] = 1 / sqrt(correct2),
                                [DECAY] = 1 - rate * o->number};

        step[i] = (struct bench_foreach_arguments){.function = (int)o->function,
                                                   .y = (int)o->y,
                                                   .x = (int)o->x,
                                                   .z = (int)o->z,
                                                   .scale = (float)scale[o->scale]};
    }
    return lists[training->optimizer].count;
}

/*
 * trees.h - gradient-boosted regression trees on binned features (Friedman 2001; histograms and
 * growth by the best leaf as in LightGBM, Ke et al. 2017): they find sharp thresholds, such as
 * where a library changes its kernel, that networks smooth over.
 */
#ifndef DLT_LEARN_TREES_H
#define DLT_LEARN_TREES_H

#include "predict/forest.h"

struct dlt_trees {
    struct dlt_forest_node *node; /* tree t starts at node t x stride; malloc'ed */
    size_t count;                 /* trees */
    size_t stride;                /* nodes of one tree: 2 x leaves - 1 */
    float *output;                /* of each leaf, before it is quantised; malloc'ed */
    double scale;                 /* outputs are the sum of leaves' values times this */
};

struct dlt_trees_settings {
    int rounds;
    int leaves;      /* at most DLT_FOREST_LEAVES */
    double rate;     /* of each tree */
    double rows;     /* share of rows that each tree sees */
    double features; /* share of features that each tree may use */
    int least_rows;  /* in a leaf */
    double ridge;    /* added to a leaf's weight */
    uint64_t seed, stream;
};

/* x: rows x width on the forest's grid (width at most DLT_FOREST_INPUTS), y: rows, weight: rows, or
 * NULL: all 1. Returns 0, or -1 out of memory. One thread; deterministic. */
int dlt_trees_train(struct dlt_trees *trees, const int16_t *x, const float *y, const float *weight,
                    size_t rows, size_t width, const struct dlt_trees_settings *settings);
void dlt_trees_clear(struct dlt_trees *trees);

/* The mean of count forests of one stride as one, its leaves quantised. Returns -1 out of memory.
 */
int dlt_trees_mean(const struct dlt_trees *trees, size_t count, struct dlt_trees *mean);

/* The output of a quantised forest for one input on the grid. */
double dlt_trees_run(const struct dlt_trees *trees, const int16_t *input);

#endif

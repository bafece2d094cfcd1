/*
 * forest.h - a sum of regression trees: their layout in memory and their evaluation.
 *
 * Inputs are standardised features on a grid of 1 / DLT_FOREST_UNIT, so that a node is 4 bytes.
 */
#ifndef DLT_PREDICT_FOREST_H
#define DLT_PREDICT_FOREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DLT_FOREST_UNIT = 4096, DLT_FOREST_LEAVES = 128, DLT_FOREST_INPUTS = 254 };
enum { DLT_FOREST_LEAF = 255 };

/* Inner node: inputs with input[feature] <= value go to node `next` of their tree, the others to
 * next + 1. Leaf: feature is DLT_FOREST_LEAF, value the output in units of the forest's scale. */
struct dlt_forest_node {
    uint8_t feature;
    uint8_t next;
    int16_t value;
};

/* A standardised feature on the grid. */
int16_t dlt_forest_input(float standardised);

/* The sum of the leaves that an input reaches, in units of the scale. node: trees x stride. */
int32_t dlt_forest_run(const struct dlt_forest_node *node, size_t trees, size_t stride,
                       const int16_t *input);

/* Whether every walk ends: features below inputs, children behind their parent and in the tree. */
bool dlt_forest_is_sound(const struct dlt_forest_node *node, size_t trees, size_t stride,
                         size_t inputs);

#endif

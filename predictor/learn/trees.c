/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/trees.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/known.h"
#include "learn/random.h"

enum { BINS = 256 };

struct bin {
    float sum, weight; /* of residuals, each times its row's weight; of those weights */
    uint32_t count;
};

struct leaf {
    size_t from, count; /* in the order of rows */
    struct bin *bins;   /* width x BINS */
    double sum, weight; /* as in a bin */
    int node;
    double gain; /* of its best split; 0: none */
    uint32_t feature, bin;
};

struct grower {
    const struct dlt_trees_settings *settings;
    size_t rows, width;
    uint8_t *binned;     /* rows x width */
    int16_t *edge;       /* width x BINS: the largest value of each bin */
    uint16_t *bins;      /* of each feature */
    float *residual;     /* rows */
    const float *weight; /* rows, or NULL */
    uint32_t *order;     /* sampled rows, grouped by leaf */
    uint32_t *spare;     /* for partitioning */
    uint32_t *used;      /* features of this tree */
    size_t used_count;
    struct leaf *leaf;
    struct bin *pool; /* leaves x width x BINS */
};

static int ascending(const void *a, const void *b)
{
    int16_t x = *(const int16_t *)a, y = *(const int16_t *)b;

    return (x > y) - (x < y);
}

/* Bins of one feature: each distinct value where there are few, else equal shares of the rows. */
static void find_edges(struct grower *g, const int16_t *x, size_t f, int16_t *sorted)
{
    int16_t *edge = g->edge + f * BINS;
    size_t distinct = 1, bins = 0;

    for (size_t r = 0; r < g->rows; r++)
        sorted[r] = x[r * g->width + f];
    qsort(sorted, g->rows, sizeof *sorted, ascending);
    for (size_t r = 1; r < g->rows; r++)
        distinct += sorted[r] > sorted[r - 1];
    for (size_t r = 0; r < g->rows; r++) {
        bool last = r + 1 == g->rows;
        size_t share = (r + 1) * (BINS - 1) / g->rows;

        if (!last && sorted[r + 1] <= sorted[r])
            continue;
        if (last || distinct < BINS || share > bins) {
            /* Half-way, so that values never seen fall on the nearer side. */
            edge[bins++] = last ? INT16_MAX : (int16_t)((sorted[r] + sorted[r + 1]) >> 1);
            if (bins == BINS)
                break;
        }
    }
    edge[bins - 1] = INT16_MAX;
    g->bins[f] = (uint16_t)bins;
}

static uint8_t find_bin(const int16_t *edge, size_t bins, int16_t value)
{
    size_t low = 0, high = bins - 1;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (value <= edge[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return (uint8_t)low;
}

static void fill_bins(const struct grower *g, struct leaf *leaf)
{
    DLT_KNOWN(leaf->bins);
    memset(leaf->bins, 0, g->width * BINS * sizeof *leaf->bins);
    leaf->sum = leaf->weight = 0;
    for (size_t i = leaf->from; i < leaf->from + leaf->count; i++) {
        const uint8_t *row = g->binned + (size_t)g->order[i] * g->width;
        float weight = g->weight ? g->weight[g->order[i]] : 1;
        float residual = weight * g->residual[g->order[i]];

        leaf->sum += (double)residual;
        leaf->weight += (double)weight;
        for (size_t u = 0; u < g->used_count; u++) {
            size_t f = g->used[u];
            struct bin *bin = &leaf->bins[f * BINS + row[f]];

            bin->sum += residual;
            bin->weight += weight;
            bin->count++;
        }
    }
}

static double worth(double sum, double weight, double ridge)
{
    return sum * sum / (weight + ridge);
}

static void find_split(const struct grower *g, struct leaf *leaf)
{
    double ridge = g->settings->ridge, whole = worth(leaf->sum, leaf->weight, ridge);
    uint32_t least = (uint32_t)g->settings->least_rows;

    leaf->gain = 0;
    for (size_t u = 0; u < g->used_count; u++) {
        size_t f = g->used[u];
        const struct bin *bins = leaf->bins + f * BINS;
        double sum = 0, weight = 0;
        uint32_t left = 0;

        for (uint32_t b = 0; b + 1 < g->bins[f]; b++) {
            double gain;

            sum += (double)bins[b].sum;
            weight += (double)bins[b].weight;
            left += bins[b].count;
            if (bins[b].count == 0 || left < least)
                continue;
            if (leaf->count - left < least)
                break;
            gain = worth(sum, weight, ridge) +
                   worth(leaf->sum - sum, fmax(leaf->weight - weight, 0), ridge) - whole;
            if (gain > leaf->gain) {
                leaf->gain = gain;
                leaf->feature = (uint32_t)f;
                leaf->bin = b;
            }
        }
    }
}

/* Rows up to the bin first; returns how many. Keeps their order. */
static size_t partition(struct grower *g, const struct leaf *leaf)
{
    size_t left = 0, right = 0;

    for (size_t i = 0; i < leaf->count; i++) {
        uint32_t row = g->order[leaf->from + i];

        if (g->binned[row * g->width + leaf->feature] <= leaf->bin)
            g->order[leaf->from + left++] = row;
        else
            g->spare[right++] = row;
    }
    memcpy(g->order + leaf->from + left, g->spare, right * sizeof *g->spare);
    return left;
}

/* The smaller half is counted, the larger one is what remains of the parent. */
static void split(struct grower *g, struct leaf *parent, struct leaf *fresh)
{
    size_t left = partition(g, parent);
    struct leaf whole = *parent;
    bool left_small = left * 2 <= whole.count;
    struct leaf *small = left_small ? parent : fresh, *large = left_small ? fresh : parent;
    struct bin *fresh_bins = fresh->bins;

    *parent = (struct leaf){.from = whole.from, .count = left};
    *fresh = (struct leaf){.from = whole.from + left, .count = whole.count - left};
    large->bins = whole.bins;
    small->bins = fresh_bins;
    fill_bins(g, small);
    large->sum = whole.sum - small->sum;
    large->weight = fmax(whole.weight - small->weight, 0);
    for (size_t u = 0; u < g->used_count; u++) {
        struct bin *to = large->bins + g->used[u] * BINS;
        const struct bin *from = small->bins + g->used[u] * BINS;

        for (uint32_t b = 0; b < g->bins[g->used[u]]; b++) {
            to[b].sum -= from[b].sum;
            to[b].weight -= from[b].weight;
            to[b].count -= from[b].count;
        }
    }
    find_split(g, small);
    find_split(g, large);
}

/* Leaves' outputs go to output[node]; they are quantised once the largest is known. */
static void grow_tree(struct grower *g, size_t sampled, struct dlt_forest_node *node, float *output)
{
    int leaves = 1, nodes = 1;

    g->leaf[0].from = 0;
    g->leaf[0].count = sampled;
    g->leaf[0].node = 0;
    fill_bins(g, &g->leaf[0]);
    find_split(g, &g->leaf[0]);
    while (leaves < g->settings->leaves) {
        struct leaf *best = &g->leaf[0], *fresh = &g->leaf[leaves];
        struct dlt_forest_node *at;

        for (int l = 1; l < leaves; l++)
            if (g->leaf[l].gain > best->gain)
                best = &g->leaf[l];
        if (!(best->gain > 1e-9))
            break;
        at = &node[best->node];
        at->feature = (uint8_t)best->feature;
        at->value = g->edge[best->feature * BINS + best->bin];
        at->next = (uint8_t)nodes;
        split(g, best, fresh);
        best->node = nodes++;
        fresh->node = nodes++;
        leaves++;
    }
    for (int l = 0; l < leaves; l++) {
        node[g->leaf[l].node].feature = DLT_FOREST_LEAF;
        output[g->leaf[l].node] =
            (float)(g->settings->rate * g->leaf[l].sum / (g->leaf[l].weight + g->settings->ridge));
    }
}

static size_t find_leaf(const struct dlt_forest_node *tree, const int16_t *input)
{
    const struct dlt_forest_node *at = tree;

    while (at->feature != DLT_FOREST_LEAF)
        at = tree + at->next + (input[at->feature] > at->value);
    return (size_t)(at - tree);
}

double dlt_trees_run(const struct dlt_trees *trees, const int16_t *input)
{
    return trees->scale * (double)dlt_forest_run(trees->node, trees->count, trees->stride, input);
}

int dlt_trees_mean(const struct dlt_trees *trees, size_t count, struct dlt_trees *mean)
{
    float largest = 1e-9f;
    size_t nodes = 0, used = 0;

    *mean = (struct dlt_trees){.stride = trees->stride};
    for (size_t f = 0; f < count; f++)
        nodes += trees[f].count * trees[f].stride;
    mean->node = malloc((nodes + 1) * sizeof *mean->node);
    if (!mean->node)
        return -1;
    for (size_t f = 0; f < count; f++)
        for (size_t i = 0; i < trees[f].count * trees[f].stride; i++)
            largest = fmaxf(largest, fabsf(trees[f].output[i]));
    for (size_t f = 0; f < count; f++) {
        for (size_t i = 0; i < trees[f].count * trees[f].stride; i++, used++) {
            mean->node[used] = trees[f].node[i];
            if (mean->node[used].feature == DLT_FOREST_LEAF)
                mean->node[used].value = (int16_t)lrintf(trees[f].output[i] / largest * INT16_MAX);
        }
        mean->count += trees[f].count;
    }
    mean->scale = (double)largest / INT16_MAX / (double)count;
    return 0;
}

static void boost(struct grower *g, struct dlt_trees *trees, const int16_t *x, const float *y)
{
    const struct dlt_trees_settings *s = g->settings;
    size_t sampled = (size_t)fmax(1, s->rows * (double)g->rows);
    struct dlt_random random;

    dlt_random_seed(&random, s->seed, s->stream);
    memcpy(g->residual, y, g->rows * sizeof *y);
    for (int round = 0; round < s->rounds; round++) {
        struct dlt_forest_node *tree = trees->node + (size_t)round * trees->stride;
        float *leaf = trees->output + (size_t)round * trees->stride;

        for (size_t r = 0; r < g->rows; r++)
            g->order[r] = (uint32_t)r;
        for (size_t f = 0; f < g->width; f++)
            g->used[f] = (uint32_t)f;
        if (sampled < g->rows)
            dlt_random_shuffle(&random, g->order, g->rows);
        dlt_random_shuffle(&random, g->used, g->width);
        g->used_count = (size_t)ceil(s->features * (double)g->width);
        grow_tree(g, sampled, tree, leaf);
        for (size_t r = 0; r < g->rows; r++)
            g->residual[r] -= leaf[find_leaf(tree, x + r * g->width)];
        trees->count++;
    }
}

static void grower_clear(struct grower *g)
{
    free(g->binned);
    free(g->edge);
    free(g->bins);
    free(g->residual);
    free(g->order);
    free(g->spare);
    free(g->used);
    free(g->leaf);
    free(g->pool);
}

static int grower_create(struct grower *g)
{
    size_t leaves = (size_t)g->settings->leaves;

    g->binned = malloc(g->rows * g->width + 1);
    g->edge = calloc(g->width * BINS + 1, sizeof *g->edge);
    g->bins = calloc(g->width + 1, sizeof *g->bins);
    g->residual = calloc(g->rows + 1, sizeof *g->residual);
    g->order = calloc(g->rows + 1, sizeof *g->order);
    g->spare = calloc(g->rows + 1, sizeof *g->spare);
    g->used = calloc(g->width + 1, sizeof *g->used);
    g->leaf = calloc(leaves, sizeof *g->leaf);
    g->pool = calloc(leaves * g->width * BINS + 1, sizeof *g->pool);
    return g->binned && g->edge && g->bins && g->residual && g->order && g->spare && g->used &&
                   g->leaf && g->pool
               ? 0
               : -1;
}

static int fill_in_bins(struct grower *g, const int16_t *x)
{
    int16_t *sorted = malloc((g->rows + 1) * sizeof *sorted);

    if (!sorted)
        return -1;
    for (size_t f = 0; f < g->width; f++) {
        find_edges(g, x, f, sorted);
        for (size_t r = 0; r < g->rows; r++)
            g->binned[r * g->width + f] =
                find_bin(g->edge + f * BINS, g->bins[f], x[r * g->width + f]);
    }
    free(sorted);
    return 0;
}

int dlt_trees_train(struct dlt_trees *trees, const int16_t *x, const float *y, const float *weight,
                    size_t rows, size_t width, const struct dlt_trees_settings *settings)
{
    struct grower g = {.settings = settings, .rows = rows, .width = width, .weight = weight};
    size_t nodes = (size_t)settings->rounds * (2 * (size_t)settings->leaves - 1);
    int result = -1;

    *trees = (struct dlt_trees){.stride = 2 * (size_t)settings->leaves - 1};
    trees->output = calloc(nodes + 1, sizeof *trees->output);
    trees->node = calloc(nodes + 1, sizeof *trees->node);
    for (size_t i = 0; trees->node && i < nodes; i++)
        trees->node[i].feature = DLT_FOREST_LEAF; /* also where a tree stays smaller */
    if (trees->output && trees->node && !grower_create(&g) && !fill_in_bins(&g, x)) {
        for (int l = 0; l < settings->leaves; l++)
            g.leaf[l].bins = g.pool + (size_t)l * width * BINS;
        boost(&g, trees, x, y);
        result = 0;
    }
    grower_clear(&g);
    if (result)
        dlt_trees_clear(trees);
    return result;
}

void dlt_trees_clear(struct dlt_trees *trees)
{
    free(trees->node);
    free(trees->output);
    *trees = (struct dlt_trees){0};
}

/*
 * table.h - a network's step from a table of benchmarked convolutions.
 *
 * The method of Bryzgalov and Maeda (PERMAVOST '24): a CNN's training step takes the times of its
 * convolutions, benchmarked one by one in their very shapes, and beside them what a regression
 * says over aggregated parameters of everything else:
 *     t(pass) = factor(pass) x sum of convolutions + sum of coefficient x term
 * for forward, backward and update; terms are bytes that norms, pools and activations move,
 * products' arithmetic, kernels, parameters to update, and a constant.
 *
 * Between benchmarked batches a convolution's time is a straight line, and beyond them the line
 * through the last two. A shape that is not in the table gets a cost model's time and the mean of
 * what the nearest shapes take beyond theirs, weighted by exp(-d^2 / 2); d^2 sums squared
 * differences of logarithms of the sizes, each over a length that was learned.
 *
 * A table is an optional section of a profile, named "conv-table FRAMEWORK", one for each precision
 * that runs were seen in. A profile without it is read as ever.
 */
#ifndef DLT_PREDICT_TABLE_H
#define DLT_PREDICT_TABLE_H

#include "graph/training.h"
#include "predict/estimate.h"
#include "predict/step.h"

/* Times of one convolution: what a unit asks for. The data gradient alone is what BACKWARD takes
 * beyond WEIGHT. */
enum dlt_table_slot { DLT_TABLE_FORWARD, DLT_TABLE_WEIGHT, DLT_TABLE_BACKWARD, DLT_TABLE_SLOTS };

/* Parts of a step that are fitted. */
enum dlt_table_part { DLT_PART_FORWARD, DLT_PART_BACKWARD, DLT_PART_UPDATE, DLT_TABLE_PARTS };

/* Aggregated parameters of a network's part of a step; see table_terms.c for the columns. */
enum { DLT_TABLE_TERMS = 17, DLT_TABLE_AXES = 8, DLT_TABLE_COSTS = 7, DLT_TABLE_LAYOUT = 1 };
/* Columns of multiply-accumulates: of dense layers, and of convolutions in one group. */
enum { DLT_TERM_PRODUCTS = 10, DLT_COST_MACS = 4 };

/* A convolution's sizes; what of them is compared comes first. Unused dimensions are 0. */
struct dlt_table_shape {
    uint32_t in_channels, out_channels, groups, in_size[3];
    uint16_t kernel[3], stride[3], dilation[3], padding[3][2], out_size[3];
    uint8_t dims, transposed, bias, activation;
    uint32_t first, count; /* of its points, in the order of their batches */
    float axis[DLT_TABLE_AXES];
};

enum { DLT_TABLE_BATCH_MAX = 1 << 24 }; /* up to which a float tells whole numbers apart */

struct dlt_table_point {
    float batch;
    float seconds[DLT_TABLE_SLOTS]; /* NaN: not known */
};

/* What a section's bytes begin with; shapes and points follow. */
struct dlt_file_table {
    uint32_t layout; /* DLT_TABLE_LAYOUT */
    uint32_t shapes, points;
    uint32_t precision; /* enum dlt_precision */
    uint32_t reserved;  /* 0 */
    uint32_t forced;    /* 1: --method conv-table, whatever validates better */
    double factor[2];   /* of the convolutions' time, forward and backward */
    double term[DLT_TABLE_PARTS][DLT_TABLE_TERMS];
    double cost[DLT_TABLE_SLOTS][DLT_TABLE_COSTS];
    double length[2][DLT_TABLE_AXES]; /* 1 / length^2, forward and backward */
    double prior[2];                  /* weight of the cost model among the neighbours */
    /* Of the logarithm of a step's time, on networks left out in turn: all convolutions in the
     * table; none of them; the sum of operators. */
    double sigma, sigma_near, sigma_sum;
    double mape, mape_near;                      /* of the first two */
    double network_sigma, run_sigma, bias_sigma; /* of the first */
    double networks, runs;
};

/* A table in memory. hidden: of each shape, 1: as if it were not there; or NULL. */
struct dlt_table {
    const struct dlt_file_table *head;
    const struct dlt_table_shape *shape;
    const struct dlt_table_point *point;
    const unsigned char *hidden;
};

/* The name of a framework's section. */
void dlt_table_kind(enum dlt_framework framework, char kind[32]);
/* Whether a section's name is one of those. */
bool dlt_table_is(const char *kind);

/* Finds and checks the arrays of a section's bytes (8-byte aligned). */
bool dlt_table_parse(const unsigned char *bytes, size_t size, struct dlt_table *table);

/* A convolution's shape, without its points; false for another kind of record, and for sizes that
 * the table has no room for. */
bool dlt_table_shape_of(const struct dlt_record *record, struct dlt_table_shape *shape);
bool dlt_table_same_shape(const struct dlt_table_shape *a, const struct dlt_table_shape *b);
/* Columns of the cost model for a batch in a pass. */
void dlt_table_costs(const struct dlt_table_shape *shape, double batch, double *cost);
double dlt_table_cost(const struct dlt_file_table *head, const struct dlt_table_shape *shape,
                      double batch, enum dlt_table_slot slot);

/* Seconds of a shape of the table, interpolated over the batch; NaN: no point has that slot. */
double dlt_table_known(const struct dlt_table *table, const struct dlt_table_shape *shape,
                       double batch, enum dlt_table_slot slot);
/* Seconds by the nearest shapes, `shape` itself not among them. */
double dlt_table_near(const struct dlt_table *table, const struct dlt_table_shape *shape,
                      double batch, enum dlt_table_slot slot);

/* The convolutions of a plan: seconds of both passes, and of them by the nearest shapes. */
struct dlt_table_sum {
    double seconds[2];
    double near_s;
    size_t convolutions;
    size_t too_large; /* more, whose sizes the table has no room for; they have no seconds */
};
/* unit: room for plan->unit_count times, of which those of convolutions are filled in; or NULL. */
void dlt_table_convolutions(const struct dlt_table *table, const struct dlt_plan *plan,
                            struct dlt_unit_times *unit, struct dlt_table_sum *sum);

/* Aggregated parameters of everything in a plan but the convolutions, and of what these move. */
void dlt_table_terms(const struct dlt_plan *plan, double term[DLT_TABLE_PARTS][DLT_TABLE_TERMS]);
/* Their names, for messages and tests; NULL beyond the last. */
extern const char *const dlt_table_term_names[DLT_TABLE_TERMS];

/* Seconds of each part of a step. */
void dlt_table_parts(const struct dlt_file_table *head, const struct dlt_table_sum *sum,
                     double term[DLT_TABLE_PARTS][DLT_TABLE_TERMS],
                     double seconds[DLT_TABLE_PARTS]);

/* The spread of the logarithm of a step of which so large a share comes from nearest shapes. */
double dlt_table_sigma(const struct dlt_file_table *head, double near_share);

/*
 * Puts a table's times in the place of the sums of operators, where the entry has a table of the
 * framework and precision, the plan has convolutions, the table has room for the sizes of each, and
 * the table validated better than the sum of operators (or was asked for when the profile was
 * trained). Then sum has the times of the step's parts, the parameters add nothing to them and have
 * the table's spreads, and unit (NULL is allowed) adds up to them. Returns whether it did; a table
 * that is damaged does not, and dlt_profile_check says so.
 */
bool dlt_table_apply(const struct dlt_profile *profile, const struct dlt_target *target,
                     const struct dlt_training *training, const struct dlt_plan *plan,
                     struct dlt_unit_times *unit, struct dlt_step_sum *sum,
                     struct dlt_step_parameters *parameters);

#endif

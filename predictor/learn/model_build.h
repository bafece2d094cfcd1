/*
 * model_build.h - a section while it is being learned, and the parts that fill it in.
 *
 * The order: dlt_fit_cost, then dlt_fit_density, then one of the ratios, then (with rows that none
 * of those saw) dlt_calibrate.
 */
#ifndef DLT_LEARN_MODEL_BUILD_H
#define DLT_LEARN_MODEL_BUILD_H

#include "learn/corpus.h"
#include "learn/random.h"
#include "predict/section.h"

/* What is known of the line of the spread (enum dlt_sigma_term) before rows tell: its slopes, and
 * how many rows are as good as that. The constant has none. */
struct dlt_spread_prior {
    double slope[DLT_SIGMA_TERMS], rows[DLT_SIGMA_TERMS];
    bool learned; /* from other devices, as model.near was: few rows then tell the scale alone */
};

struct dlt_start;

/* Owns its arrays; a section's arrays point into them once dlt_build_section was called. */
struct dlt_build {
    struct dlt_file_model model;
    struct dlt_spread_prior spread;
    double line[DLT_SIGMA_TERMS]; /* of the spread, while dlt_calibrate looks for it */
    double coefficient[DLT_COLUMNS_MAX];
    uint16_t input[DLT_FEATURES_MAX];
    float input_mean[DLT_FEATURES_MAX], input_scale[DLT_FEATURES_MAX];
    int8_t *weight;               /* malloc'ed */
    float *scale;                 /* malloc'ed */
    float *parameter;             /* malloc'ed */
    int16_t *point;               /* malloc'ed */
    struct dlt_forest_node *tree; /* malloc'ed */
    uint16_t axis[DLT_COORDINATES_MAX];
    float axis_mean[DLT_COORDINATES_MAX], axis_scale[DLT_COORDINATES_MAX];
    float axis_low[DLT_COORDINATES_MAX], axis_high[DLT_COORDINATES_MAX];
    int8_t *neighbour; /* malloc'ed */
    struct dlt_file_donor donor[DLT_DONORS];
    const struct dlt_start *begun; /* what the networks began from; NULL: random numbers */
};

/* What a device was seen to reach, or its data sheet says with the usual losses; 0: unknown.
 * floor_s: the shortest time seen, at most launch_s, the longest that a launch can take. */
struct dlt_rates {
    double flops_s, bytes_s, floor_s, launch_s;
};

/* Rows of one section: one operator, dtype and math on one device. */
struct dlt_rows {
    const struct dlt_row *const *row;
    size_t count;
    const struct dlt_device *device;
    struct dlt_rates rates;
};

/* Starts an empty one that knows its column count; of the spread, that slopes are small. */
void dlt_build_start(struct dlt_build *build, const struct dlt_record_kind *kind);
void dlt_build_clear(struct dlt_build *build);
/* The build as prediction sees a section; valid while the build does not change. */
struct dlt_section dlt_build_section(const struct dlt_build *build);
/* The bytes that dlt_section_parse reads; malloc'ed. Returns -1 out of memory. */
int dlt_build_bytes(const struct dlt_build *build, unsigned char **bytes, size_t *size);

/* The ratio is the mean of these networks, of one shape, rounded. Returns -1 out of memory. */
int dlt_build_networks(struct dlt_build *build, const struct dlt_network *network,
                       float *const *parameter, size_t members);

/* All return 0, or -1 out of memory. */
int dlt_fit_cost(struct dlt_build *build, const struct dlt_rows *rows, struct dlt_random *random);
/* The linear regression on work terms that papers compare with: least squares in seconds. */
int dlt_fit_linear(struct dlt_build *build, const struct dlt_rows *rows);
int dlt_fit_density(struct dlt_build *build, const struct dlt_rows *rows,
                    struct dlt_random *random);

/* Standardised features of rows and the standardised target ln(seconds / cost); fills in the
 * build's inputs and target. x: rows x model.inputs, y: rows, both malloc'ed. `wanted` filters
 * features by name; NULL: all that vary. like: whose inputs and target to take; NULL: the rows'. */
int dlt_fit_features(struct dlt_build *build, const struct dlt_rows *rows,
                     bool (*wanted)(const char *name), const struct dlt_start *like, float **x,
                     float **y);
/*
 * Which of count features vary, their mean and what they are multiplied by: 1 / the standard
 * deviation, or a sixth of the range where that is more, so that clipping (dlt_section_input)
 * leaves what is rare but measured as it is. input, mean, scale: room for count; returns how many.
 */
struct dlt_moments;
size_t dlt_varying_features(const struct dlt_moments *feature, size_t count, uint16_t *input,
                            float *mean, float *scale);
int dlt_fit_kernel(struct dlt_build *build, const struct dlt_rows *rows);

/* Widths of an ensemble's networks, between the inputs and the output. */
#define DLT_ENSEMBLE_WIDTHS 128, 96, 64

struct dlt_ensemble_settings {
    int members;                   /* networks; 0: trees alone */
    int epochs;                    /* of each */
    const struct dlt_start *start; /* what the networks may begin from: the best of them */
    size_t starts;
    int begun_epochs; /* of each that began there */
    int bags;         /* forests; 0: networks alone */
    int rounds;       /* trees of each */
    int leaves;       /* of a tree */
    double share;     /* of the forests in the answer; negative: what answers validation best */
    bool kept; /* networks answer themselves where trees have no share; else a student of theirs */
    int student_epochs;
    double synthetic; /* made-up configurations for each measured one, to teach the student */
    int threads;
    uint64_t seed, stream;
};

/*
 * Networks and boosted trees on the same target. How much of each is used is what answers
 * `validation` best, or settings' share; the networks are kept, or replaced by one small student.
 */
int dlt_fit_ensemble(struct dlt_build *build, const struct dlt_rows *rows,
                     const struct dlt_rows *validation,
                     const struct dlt_ensemble_settings *settings);

/* How much a row of that many seconds counts in training: long ones are few and carry the error
 * that a whole network feels. Rises with the cube root, between 1/4 and 8 of one millisecond's. */
float dlt_row_weight(double seconds);

/* Trains a student of these widths on the teacher's outputs: for the rows (x, their inputs) and
 * made-up ones. teach: outputs for count inputs; returns -1 out of memory. */
struct dlt_student {
    int width[3];
    int epochs;
    double synthetic;
    uint64_t seed, stream;
    int (*teach)(void *context, const float *x, size_t count, float *y);
    void *context;
};
int dlt_fit_student(struct dlt_build *build, const struct dlt_rows *rows, const float *x,
                    const struct dlt_student *student);

/* A row that was held out, and what a model that did not see it says. */
struct dlt_held_out {
    double seconds, cost_s, ratio, distance, outside;
    double terms[DLT_SIGMA_TERMS];
    double weight; /* of it among those that the spread is learned from */
    bool further;  /* answered by less than there is: teaches the spread, and is not scored */
};
void dlt_hold_out(const struct dlt_build *build, const struct dlt_rows *rows,
                  struct dlt_held_out *held_out);

/* Distance thresholds and the spread, from held-out rows; and the accuracy on them. */
struct dlt_accuracy {
    size_t count;
    double rmse_s, mape, median_ape, coverage90, mean_width;
};
int dlt_calibrate(struct dlt_build *build, struct dlt_held_out *held_out, size_t count,
                  struct dlt_accuracy *accuracy);

/* Whether rows kept out are missed so far that the others are no evidence of them: half of them by
 * half of their time and more, and on average by more than all of it, by which nothing at all would
 * miss them. */
static inline bool dlt_accuracy_is_absurd(const struct dlt_accuracy *a)
{
    return a->count > 0 && !(a->median_ape <= 0.5 || a->mape <= 1);
}

/* Made-up records near measured ones: sizes exchanged, and moved by a factor whose logarithm has
 * this spread. Returns false where the attempt is not a valid record. */
bool dlt_synthesise(const struct dlt_rows *rows, struct dlt_random *random, double spread,
                    struct dlt_record *record);

#endif

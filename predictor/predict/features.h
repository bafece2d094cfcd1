/*
 * features.h - a record as numbers: columns of the cost model, features of the learned ratio,
 * coordinates for the distance to what was measured.
 *
 * Any kind of the record table gets all three from its fields and its work; conv*d, dense and bmm
 * have functions of their own for columns and features. What a number means must never change
 * within one DLT_FEATURE_SET: profiles store weights by position and are refused on a mismatch.
 */
#ifndef DLT_PREDICT_FEATURES_H
#define DLT_PREDICT_FEATURES_H

#include "device/device.h"
#include "graph/record.h"

enum {
    DLT_FEATURE_SET = 3,
    DLT_COLUMNS_MAX = 200,
    DLT_FEATURES_MAX = 224,
    DLT_COORDINATES_MAX = 64
};

/* Numbers in their fixed order, each with a name (static text) for tests and reports. */
struct dlt_numbers {
    size_t count;
    double value[DLT_FEATURES_MAX];
    const char *name[DLT_FEATURES_MAX];
};

/* Appends; numbers beyond the room are dropped (tests keep every kind below it). */
void dlt_numbers_add(struct dlt_numbers *numbers, const char *name, double value);
/* The value of that name; NaN if there is none. */
double dlt_numbers_find(const struct dlt_numbers *numbers, const char *name);

/* Which gradients and updates a pass consists of. */
struct dlt_parts {
    bool forward, data, weight, update;
};
struct dlt_parts dlt_pass_parts(enum dlt_pass pass);

/*
 * Columns of the cost model: work terms whose sum with coefficients >= 0 is a time. Columns of one
 * part of a pass are zero where the pass lacks that part. Those of the update ("update ...") are
 * apart for the layer's input and its weights, since benchmarks of a single layer may train the
 * input as well and no network does; they go by the arrays that the optimizer moves, with further
 * ones ("update ... of") for what one optimizer takes beyond that.
 */
void dlt_columns(const struct dlt_record *record, struct dlt_numbers *columns);

/* Which columns belong to the update, to that of the layer's input, and to one optimizer only. */
bool dlt_column_is_update(const char *name);
bool dlt_column_is_input_update(const char *name);
bool dlt_column_is_of_one(const char *name);
/* Learned by no new section; older ones may have coefficients of it. */
bool dlt_column_is_retired(const char *name);

/* What a column's time goes by when another device does the work. Constants go by the host and the
 * launch, MACs, FLOPs and tiles by the arithmetic, everything else by the memory. */
enum dlt_resource { DLT_LAUNCH, DLT_MEMORY, DLT_COMPUTE, DLT_RESOURCES };
enum dlt_resource dlt_column_resource(const struct dlt_numbers *columns, size_t index);

/*
 * Features of the learned ratio ln(time / cost model).
 * cost_s: the cost model's time for the record, seconds. device: for the roofline; zeros where
 * unknown give neutral values.
 */
void dlt_features(const struct dlt_record *record, const struct dlt_device *device, double cost_s,
                  struct dlt_numbers *features);

/* Coordinates in which distance between records is measured: logarithms of the kind's fields and
 * indicators of everything else. */
void dlt_coordinates(const struct dlt_record *record, struct dlt_numbers *coordinates);

/* A number that changes whenever the kind's first so many columns, its first so many features or
 * its coordinates change in count, order or name: a section learned with others must not be used.
 * Those behind the ones that it was learned with are as if they were not there. SIZE_MAX: all. */
uint32_t dlt_feature_signature(const struct dlt_record_kind *kind, size_t columns, size_t features);

/* ln(ceil(x / tile) tile / x): what padding x to whole tiles adds. */
double dlt_padding_waste(double x, double tile);

/* Of one kind each; used by dlt_columns and dlt_features. */
void dlt_columns_matmul(const struct dlt_record *record, const struct dlt_work *work,
                        struct dlt_numbers *columns);
void dlt_features_convolution(const struct dlt_record *record, const struct dlt_work *work,
                              const struct dlt_device *device, struct dlt_numbers *features);
void dlt_features_matmul(const struct dlt_record *record, const struct dlt_work *work,
                         const struct dlt_device *device, struct dlt_numbers *features);

/* A convolution's geometry with its dimensions averaged (geometric means). */
struct dlt_geometry {
    double batch, in_channels, out_channels, groups; /* channels of one group */
    double in, out, kernel, stride, dilation;        /* of one dimension */
    double padding;                                  /* both sides together */
    double window;                                   /* kernel elements */
    double plane;                                    /* output elements of one image */
};
struct dlt_geometry dlt_geometry_of(const struct dlt_record *record);

/* TensorFlow computes a 1 x 1 convolution of stride 1, and one whose kernel is as large as its
 * unpadded input, as a plain matrix product of cuBLAS. */
bool dlt_geometry_is_product(const struct dlt_geometry *geometry);

/* What an algorithm multiplies and moves to and from memory, in elements; per forward pass, and the
 * same for each gradient. */
struct dlt_algorithm {
    double macs, elements;
};
/* Winograd's F(m x m, k x k): tiles of m + k - 1 points a side. */
struct dlt_algorithm dlt_winograd(const struct dlt_geometry *geometry, double m);
/* Fourier transforms of the whole image, or of tiles of 32 x 32. */
struct dlt_algorithm dlt_fourier(const struct dlt_geometry *geometry, bool tiled);

#endif

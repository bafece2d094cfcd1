/*
 * section.h - what one section says about one record: cost model x learned ratio, how far the
 * record lies from the measured ones, and how far the answer may be off.
 */
#ifndef DLT_PREDICT_SECTION_H
#define DLT_PREDICT_SECTION_H

#include "predict/profile_format.h"

struct dlt_answer {
    double seconds;
    double cost_s;       /* of the cost model alone */
    double sigma;        /* of ln seconds */
    double extrapolated; /* 0 to 1 */
};

/* Sum of coefficients times columns, at least the floor (1 us where the section has none). */
double dlt_section_cost(const struct dlt_section *section, const struct dlt_record *record);

/* The part of that sum that updates the layer's input, or the input and the weights. */
double dlt_section_update_cost(const struct dlt_section *section, const struct dlt_record *record,
                               bool input_only);

/*
 * Distance of a record to the rows kept from training: mean over the three nearest, in standardised
 * coordinates. outside: how far it lies beyond the range of single coordinates.
 */
double dlt_section_distance(const struct dlt_section *section, const struct dlt_record *record,
                            double *outside);

/* The same without the distance, which costs more. */
void dlt_section_outside(const struct dlt_section *section, const struct dlt_record *record,
                         double *outside);

/* 0 within the training rows, 1 far outside them. */
double dlt_section_extrapolation(const struct dlt_section *section, double distance,
                                 double outside);

/* A record's features as the ratio takes them: standardised and clipped to 6 standard deviations;
 * model.inputs numbers. */
void dlt_section_input(const struct dlt_section *section, const struct dlt_device *device,
                       const struct dlt_record *record, double cost_s, float *input);

/* ln(time / cost), as learned; 0 where the section has the cost model only. apart: how far the
 * networks and the forest disagree about it, 0 where one answers alone; NULL: not wanted. */
double dlt_section_ratio(const struct dlt_section *section, const struct dlt_device *device,
                         const struct dlt_record *record, double cost_s, double *apart);

/* What the spread within the training rows depends on. The last five are of convolutions: where
 * libraries choose among algorithms, and which sizes few measured rows have. */
enum dlt_sigma_term {
    DLT_SIGMA_CONSTANT,
    DLT_SIGMA_DISTANCE, /* relative to `near` */
    DLT_SIGMA_COST,     /* standardised logarithm */
    DLT_SIGMA_COST_SQUARED,
    DLT_SIGMA_BACKWARD,
    DLT_SIGMA_UPDATE,
    DLT_SIGMA_APART, /* how far those that answer are apart, as dlt_section_ratio says; of other
                      * devices, how far they are from the one asked about */
    DLT_SIGMA_STRIDE_1,
    DLT_SIGMA_IMAGE,    /* logarithm of the output's positions */
    DLT_SIGMA_CHANNELS, /* logarithm */
    DLT_SIGMA_PRODUCT,  /* kernel and stride of 1 */
    DLT_SIGMA_BATCH,    /* logarithm */
    DLT_SIGMA_KNOWN
};
_Static_assert(DLT_SIGMA_KNOWN == (int)DLT_SIGMA_TERMS, "a profile keeps a coefficient of each");
_Static_assert(DLT_SIGMA_PRODUCT == (int)DLT_SIGMA_ALL, "a transfer has none of the last");

/* A term's coefficient; 0 of those that a transfer lacks. */
double dlt_sigma_coefficient(const struct dlt_file_model *model, int term);

/* terms: by enum dlt_sigma_term. */
void dlt_section_sigma_terms(const struct dlt_section *section, const struct dlt_record *record,
                             double cost_s, double distance, double apart,
                             double terms[DLT_SIGMA_TERMS]);

/* The spread that those terms give within the training rows. */
double dlt_section_sigma(const struct dlt_section *section, const double terms[DLT_SIGMA_TERMS]);

/* All of it. */
void dlt_section_answer(const struct dlt_section *section, const struct dlt_device *device,
                        const struct dlt_record *record, struct dlt_answer *answer);

/* The sum of the section's points' weights x kernel(distance of the input to the point); input:
 * model.inputs numbers, standardised. */
double dlt_section_kernel(const struct dlt_section *section, const float *input);

/* Matern kernel with nu = 3/2 at a squared distance in units of the length. */
double dlt_kernel(double squared_distance, double length);

#endif

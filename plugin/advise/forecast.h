/*
 * forecast.h - one model priced for many partitions: profiles are opened once, equal questions are
 * answered once, and the catalogue of devices is read only where no profile knows a device.
 */
#ifndef DLT_ADVISE_FORECAST_H
#define DLT_ADVISE_FORECAST_H

#include "policy.h"

struct dlt_forecast;

/* What a candidate's texts point to. */
struct dlt_forecast_text {
    char device[96];
    char *why; /* malloc'ed, or NULL: most have none */
};

/* What is asked about beside the candidate's placement. */
struct dlt_forecast_place {
    const struct dlt_site_partition *site; /* NULL: dltime.conf does not describe it */
    struct dlt_shape shape;
};

/* Takes nothing over; all of it has to outlive the forecast. time_s: the user's --time, or NaN. */
int dlt_forecast_create(const struct dlt_config *config, uid_t slurm_uid, double time_s,
                        struct dlt_model *model, struct dlt_forecast **forecast,
                        struct dlt_error *error);
void dlt_forecast_destroy(struct dlt_forecast *forecast);

/* What of scaling and history could not be read, one sentence, or "". Owned by the forecast. */
const char *dlt_forecast_notice(const struct dlt_forecast *forecast);

/* Fills in the candidate's estimate, or `why` there is none. */
void dlt_forecast(struct dlt_forecast *forecast, const struct dlt_forecast_place *place,
                  struct dlt_candidate *candidate, struct dlt_forecast_text *text);

/* "resnet50: 25.6 M parameters; 90 epochs of 2503 steps; 256 per GPU, 512 in all; float32" of the
 * first estimate, or "". Owned by the forecast. */
const char *dlt_forecast_headline(const struct dlt_forecast *forecast);

/* Fills in more_devices and more_job_s: the asked-for GPUs doubled until the limit is one that the
 * candidate allows and `most` seconds do. Leaves 0 where the partition has not so many. */
void dlt_forecast_more_devices(struct dlt_forecast *forecast,
                               const struct dlt_forecast_place *place, double most,
                               struct dlt_candidate *candidate);

/* Fills in fitting_batch and fitting_accumulate: the batch halved until it fits. */
void dlt_forecast_smaller_batch(struct dlt_forecast *forecast,
                                const struct dlt_forecast_place *place,
                                struct dlt_candidate *candidate);

#endif

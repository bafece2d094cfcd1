/* policy.h - a cluster of three partitions, and what is decided and said there. */
#ifndef DLT_TESTS_UNIT_POLICY_H
#define DLT_TESTS_UNIT_POLICY_H

#include <string.h>

#include "../../plugin/advise/policy.h"

#include "test.h"

static const double hour = 3600, day = 86400;

/* Three partitions as in the design: v100 is Slurm's default. */
struct cluster {
    struct dlt_config config;
    struct dlt_request request;
    struct dlt_modes modes;
    struct dlt_candidate candidate[3];
    struct dlt_decision decision;
};

enum { A100, V100, P100 };

static inline struct dlt_candidate partition(const char *name, double job_s, double upper_s)
{
    return (struct dlt_candidate){
        .partition = name,
        .device = name,
        .gpu = true,
        .up = true,
        .default_time_s = NAN,
        .max_time_s = 7 * day,
        .placement = {.devices = 2, .nodes = 1},
        .step_s = job_s / 1000,
        .epoch_s = job_s / 90,
        .job_s = job_s,
        .low_s = 0.9 * job_s,
        .high_s = 1.1 * job_s,
        .upper_s = upper_s,
        .basis = DLT_BASIS_MEASURED,
        .fits = DLT_FITS_YES,
        .memory_bytes = 31e9,
        .device_memory_bytes = 40e9,
    };
}

static inline int set_up(void **state)
{
    static struct cluster cluster;

    dlt_config_init(&cluster.config);
    cluster.config.grain_s = 600;
    dlt_request_init(&cluster.request);
    cluster.modes = (struct dlt_modes){DLT_TIME_SET, DLT_PARTITION_SUGGEST, false};
    cluster.candidate[A100] = partition("a100", 14 * hour, 16 * hour + 1);
    cluster.candidate[V100] = partition("v100", 32 * hour, 37 * hour);
    cluster.candidate[P100] = partition("p100", 60 * hour, 70 * hour);
    cluster.candidate[V100].is_default = true;
    *state = &cluster;
    return 0;
}

static inline void decide(struct cluster *cluster)
{
    dlt_decide(&cluster->config, &cluster->request, &cluster->modes, cluster->candidate, 3,
               &cluster->decision);
}

static inline void want_partitions(struct cluster *cluster, const char *list)
{
    strcpy(cluster->request.partitions, list);
}

/* Whether a sentence has the text in it. */
static inline bool says(const struct cluster *cluster, const char *text)
{
    for (size_t i = 0; i < cluster->decision.line_count; i++) {
        if (strstr(cluster->decision.line[i].text, text))
            return true;
    }
    return false;
}

static inline bool warns(const struct cluster *cluster)
{
    for (size_t i = 0; i < cluster->decision.line_count; i++) {
        if (cluster->decision.line[i].warning)
            return true;
    }
    return false;
}

#define CASE(function) cmocka_unit_test_setup(function, set_up)

#endif

/*
 * policy.h - what to do about a job: a pure function of configuration, request and estimates.
 */
#ifndef DLT_ADVISE_POLICY_H
#define DLT_ADVISE_POLICY_H

#include "config.h"

/* A partition's kind of node that the job could run on, and what was predicted for it. Seconds and
 * bytes; NaN where unknown. Text is the caller's and outlives the decision. */
struct dlt_candidate {
    const char *partition;
    const char *device; /* as shown: "V100 PCIe 32GB" */
    bool gpu;
    bool up, is_default;
    double default_time_s;  /* NaN: none */
    double max_time_s;      /* what partition and configuration allow; INFINITY: no limit */
    bool limit_unknown;     /* QOS or association may allow less than max_time_s */
    enum dlt_access access; /* of the user; not OPEN: never chosen, CLOSED: not even named */
    double price;           /* of one device for an hour; NaN: not said */
    double start_s;         /* from now until the job would start; NaN: not asked or not known */
    struct dlt_placement placement;

    const char *why; /* no estimate: one clause; NULL: there is one */
    double step_s, epoch_s, job_s;
    double predicted_s;   /* job_s before corrections by finished jobs */
    double low_s, high_s; /* central 90 % of the job's time */
    double upper_s;       /* its quantile at the configured confidence */
    double p_over_time;   /* probability that it takes longer than --time */
    double p_over_max;    /* ... than max_time_s */
    enum dlt_basis basis;
    enum dlt_fits fits;
    double memory_bytes, device_memory_bytes;

    /* What would mend it, where dlt_decide asked for it by too_long or too_large; 0: not known. */
    int more_devices;  /* with which the limit stays under what is allowed */
    double more_job_s; /* and the job's time then */
    int64_t
        fitting_batch; /* the largest batch of one device that fits, halved from the asked one */
    int64_t fitting_accumulate; /* with which it makes the same steps */

    bool landing; /* set by dlt_decide: the job may land here */
};

/* How the decision is to be taken. */
struct dlt_modes {
    enum dlt_time_mode time;
    enum dlt_partition_mode partition;
    bool rehearsal; /* nothing is submitted: sentences say what would be done */
};

enum dlt_action {
    DLT_LEAVE,   /* the time limit stays as it is */
    DLT_SUGGEST, /* limit_s is named */
    DLT_SET      /* limit_s is set */
};

enum { DLT_DECISION_LINES = 6, DLT_LINE_SIZE = 640, DLT_NOWHERE = -1 };

struct dlt_decision {
    enum dlt_action action;
    double limit_s; /* NaN: none could be worked out */
    int slowest;    /* index of the candidate that the limit comes from, or DLT_NOWHERE */
    int better;     /* index of one worth naming, or DLT_NOWHERE */
    int chosen;     /* index of the one whose partition is to be set, or DLT_NOWHERE */
    int too_long;   /* index of one that needs more than is allowed, or DLT_NOWHERE */
    int too_large;  /* index of one whose memory does not suffice, or DLT_NOWHERE */
    size_t line_count;
    struct {
        bool warning;
        char text[DLT_LINE_SIZE];
    } line[DLT_DECISION_LINES]; /* sentences for the user, without "dltime: " */
};

/*
 * Decides. Marks the candidates that the job may land on, which is those of -p, or of
 * default_candidates, or of Slurm's default partition. Does not touch anything else.
 *
 * The limit is the largest upper_s of the landing candidates, rounded up to the grain. It is set
 * only if the user gave none, every landing candidate has an estimate of at least set_requires and
 * the limit is within what each of them allows.
 */
void dlt_decide(const struct dlt_config *config, const struct dlt_request *request,
                const struct dlt_modes *modes, struct dlt_candidate *candidates, size_t count,
                struct dlt_decision *decision);

/* Nothing is set, named or chosen, because of that one sentence, a warning. */
void dlt_decide_nothing(struct dlt_decision *decision, const char *why);

/* Candidates for which --dl-partition=auto:finish asks when the job would start: the shortest runs,
 * one for each partition. Returns how many of index[] it filled. */
enum { DLT_SHORTLIST = 3 };
size_t dlt_shortlist(const struct dlt_config *config, const struct dlt_request *request,
                     const struct dlt_candidate *candidates, size_t count,
                     size_t index[DLT_SHORTLIST]);

/* The limit that covers `seconds`: at least min_limit, rounded up to the grain. */
double dlt_limit(const struct dlt_config *config, double seconds);

/* Memory so far above the device's that no allocator's thrift will help. */
bool dlt_candidate_too_small(const struct dlt_candidate *candidate);

/* "18 h 39 min", "2 d 3 h", "40 s", into buffer. */
char *dlt_text_difference(char buffer[32], double seconds);

#endif

/*
 * advise.h - the advice on one job: snapshot, configuration and request in, table and decision out.
 */
#ifndef DLT_ADVISE_ADVISE_H
#define DLT_ADVISE_ADVISE_H

#include "policy.h"
#include "predict/tag.h"

struct dlt_forecast_text;

struct dlt_advice {
    struct dlt_decision decision;
    char headline[400];     /* "" where nothing could be predicted */
    char notice[400];       /* what of the site's files could not be used, or "" */
    char tag[DLT_TAG_SIZE]; /* for the job's comment; "": none is wanted or there is no estimate */
    size_t count;
    struct dlt_candidate *candidates;
    struct dlt_forecast_text *text; /* what the candidates' texts point to */
    const struct dlt_config *config;
};

/* A question to the controller: when would the job start there? */
struct dlt_start {
    const char *partition;
    double limit_s; /* with this time limit */
    double start_s; /* the answer, from now; NaN: none */
};

/* Fills in start_s of those that it gets an answer for, within the site's deadline in all. */
typedef void dlt_ask_start(void *context, struct dlt_start *starts, size_t count);

struct dlt_advice_question {
    const struct dlt_config *config;     /* outlives the advice */
    const struct dlt_snapshot *snapshot; /* outlives the advice */
    const struct dlt_request *request;
    const char *spec;        /* --dl-model */
    struct dlt_model *model; /* what it loaded to; NULL: not loaded yet. Unchanged afterwards */
    struct dlt_modes modes;
    dlt_ask_start *ask_start; /* NULL: nobody can be asked */
    void *ask_context;
};

/*
 * Predicts the model in every partition where the request could run, and decides. Fails only where
 * the SPEC cannot be loaded or memory is short; that a partition has no estimate is part of the
 * advice. The caller destroys it.
 */
int dlt_advise(const struct dlt_advice_question *question, struct dlt_advice **advice,
               struct dlt_error *error);
void dlt_advice_destroy(struct dlt_advice *advice);

/* The cluster as the configuration alone has it, where Slurm keeps its partitions to itself, and
 * what the request (NULL: none) names beside it: no limit is known but max_wall. The caller
 * destroys *snapshot. */
int dlt_advice_assume(const struct dlt_config *config, const struct dlt_request *request,
                      struct dlt_snapshot **snapshot, struct dlt_error *error);

/* The same for a cluster whose PrivateData hides them: fails where the configuration describes none
 * either. slurm_uid: SlurmUser. */
int dlt_advice_assume_private(const struct dlt_config *config, const struct dlt_request *request,
                              int64_t slurm_uid, struct dlt_snapshot **snapshot,
                              struct dlt_error *error);

/* The table and what is said below it. quiet: warnings alone. */
void dlt_advice_print(FILE *stream, const struct dlt_advice *advice, bool quiet);

enum { DLT_ADVICE_VARIABLES = 7 };

/* What a job is told, as environment variables: NAME and SLURM_NAME (for --export=NONE). */
struct dlt_advice_variable {
    const char *name; /* a literal, "DLTIME_STEP_S" */
    char value[96];
};

/* Fills variables for the slowest landing candidate and returns how many there are; 0 where it has
 * no estimate. limit_s: the job's limit after the decision, NaN where it has none that is known. */
size_t dlt_advice_variables(const struct dlt_advice *advice, double limit_s,
                            struct dlt_advice_variable variables[DLT_ADVICE_VARIABLES]);

#endif

/*
 * advise_call.h - what spank_dltime.so says to advise.so: the one function between the two objects.
 *
 * Only types of the C library, so that the object which is mapped into every program of Slurm's
 * stays free of anything else.
 */
#ifndef DLT_SPANK_ADVISE_CALL_H
#define DLT_SPANK_ADVISE_CALL_H

#include <stdbool.h>

enum dlt_advise_action {
    DLT_ADVISE_CHECK,  /* load the SPEC, say what is wrong with it */
    DLT_ADVISE_SUBMIT, /* advise on the submission, set what is to be set */
    DLT_ADVISE_UNDO    /* a component without a model, after one that had one */
};

struct dlt_advise_call {
    unsigned size;          /* sizeof(struct dlt_advise_call) of the caller */
    unsigned slurm_version; /* SLURM_VERSION_NUMBER that the caller was built with */
    enum dlt_advise_action action;
    const char *spec;         /* --dl-model or DL_MODEL */
    bool from_environment;    /* the SPEC is DL_MODEL's */
    bool srun;                /* else sbatch or salloc */
    const char *dl_time;      /* NULL: not given */
    const char *dl_partition; /* NULL: not given */
    const char *conf;         /* plugstack's conf=; NULL: where dltime was installed to look */
    void *opt;                /* the program's own options; NULL when checking */
    /* Puts a variable into, or with value NULL takes it out of, what the controller and prologs see
     * of the job; NULL when checking. */
    void (*tell)(void *context, const char *name, const char *value);
    void *context;
    char message[768]; /* set on failure: one sentence */
};

/* Prints the advice itself. Returns 0; -1 with a sentence in call->message; or DLT_ADVISE_ALIEN,
 * and does nothing, where the two objects are of different builds. */
enum { DLT_ADVISE_ALIEN = 1 };
typedef int dlt_advise_function(struct dlt_advise_call *call);
#define DLT_ADVISE_FUNCTION "dltime_advise"

#endif

/*
 * dltime.h - predict how long a deep-learning training job will run.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The library reads a model (JSON, ONNX or a Hugging Face configuration), builds its operator
 * graph, lowers it to the units that a framework runs, prices each unit with a profile, and adds
 * units up to a training step, steps to a run, and a run to a range with quantiles.
 *
 *     struct dlt_error error;
 *     struct dlt_model *model = NULL;
 *     struct dlt_profile *profile = NULL;
 *     struct dlt_estimate *estimate = NULL;
 *     struct dlt_question question = {.device = "a100", .devices = 1, .nodes = 1};
 *
 *     if (dlt_model_load("resnet50,epochs=90,batch=256,samples=1281167", NULL, &model, &error) ||
 *         dlt_profile_load("site.dlp", &profile, &error) ||
 *         dlt_predict(model, profile, &question, &estimate, &error))
 *         fprintf(stderr, "%s\n", error.text);
 *     else
 *         printf("%.0f s\n", dlt_estimate_job_quantile(estimate, 0.99));
 *     dlt_estimate_destroy(estimate);
 *     dlt_profile_destroy(profile);
 *     dlt_model_destroy(model);
 *
 * etc/examples/predict.c is a whole program. Link with -ldltime, or with libdltime.a -lconfig
 * -ljson-c -lz -lm.
 *
 * Units: SI, as doubles: seconds, bytes, FLOP, FLOP/s, bytes/s. What is not known is NaN.
 *
 * Errors: what can fail returns 0, or -1 with one sentence in *error, which has to be given; then
 * the object that would have been made is NULL or as it was, and nothing is left open or allocated.
 * *error means something after a failure only. Short memory is such a failure, except inside the
 * parsers of json-c (0.16) and libconfig (1.5), which do not survive it. The library never prints,
 * never ends the process, sets no signal handler and does not depend on the locale.
 *
 * Ownership: each object belongs to the caller, who destroys it once nothing uses it any more;
 * every destroy function takes NULL. An estimate stays valid without the model and the profile that
 * it was made from; a question's text and objects are needed only while dlt_predict runs. Text that
 * is passed in is copied. Text that is returned lives as long as the object that it was asked of.
 *
 * Threads: the library starts none. Loaded models, profiles, scalings, histories and finished
 * estimates are not changed by being used: any number of threads may share them, and each gets what
 * one alone would get, to the bit. Only destroying has to wait for the others. Each thread has a
 * struct dlt_error of its own. Each dlt_predict prepares the model for itself, so that calls share
 * nothing that changes.
 *
 * Fork: a child may go on with all that its parent loaded, and both may destroy their own. A
 * profile keeps its file open (close-on-exec), read without moving a file position. As everywhere,
 * a process that has other threads in the library at that moment may only exec in the child.
 */
#ifndef DLTIME_H
#define DLTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DLT_VERSION "0.1.0"

/* One sentence: which file, which place in it, how to mend it. UTF-8, no newline, no control
 * characters, always terminated. */
struct dlt_error {
    char text[768];
};

struct dlt_model;    /* a network and the training asked for */
struct dlt_profile;  /* what was learned about devices */
struct dlt_estimate; /* an answer */
struct dlt_scaling;  /* what several devices make of a step (`dltime scaling`) */
struct dlt_history;  /* corrections from finished jobs (`dltime learn`) */

/* What an estimate rests on, from worst to best. The order is meaningful: compare with <. */
enum dlt_basis {
    DLT_BASIS_NONE,       /* no estimate */
    DLT_BASIS_COST_MODEL, /* hardware figures alone */
    DLT_BASIS_GENERAL,    /* a model learned on other devices */
    DLT_BASIS_ADAPTED,    /* a general model adapted to a few measurements of this device */
    DLT_BASIS_MEASURED    /* measurements of this very device and software */
};

enum dlt_fits { DLT_FITS_UNKNOWN, DLT_FITS_YES, DLT_FITS_TIGHT, DLT_FITS_NO };

/* "none", "cost model", "general", "adapted", "measured"; never NULL. */
const char *dlt_basis_name(enum dlt_basis basis);
/* "unknown", "yes", "tight", "no"; never NULL. */
const char *dlt_fits_name(enum dlt_fits fits);

/*
 * Loads SPEC[,key=value]...: SPEC is a file (relative to the working directory) or the name of a
 * model that dltime ships; the keys are those of `training` (dltime-model(5)).
 * models_dir: where shipped models lie; NULL: the installed folder.
 */
int dlt_model_load(const char *spec, const char *models_dir, struct dlt_model **model,
                   struct dlt_error *error);
void dlt_model_destroy(struct dlt_model *model);
/* The network's name; owned by the model. */
const char *dlt_model_name(const struct dlt_model *model);

/*
 * Opens a profile, whose sections are read when they are first used. A file that is newer than this
 * library, cut short or altered in what comes before its sections is refused here. A prediction
 * that needs a section that is altered, or was later, fails and names it; so do those after it.
 * path: a file.
 */
int dlt_profile_load(const char *path, struct dlt_profile **profile, struct dlt_error *error);
void dlt_profile_destroy(struct dlt_profile *profile);

/* Reads what `dltime scaling` wrote. May be shared by threads; the caller destroys it. */
int dlt_scaling_load(const char *path, struct dlt_scaling **scaling, struct dlt_error *error);
void dlt_scaling_destroy(struct dlt_scaling *scaling);

/* Reads a file of corrections that `dltime learn` wrote. The same. */
int dlt_history_load(const char *path, struct dlt_history **history, struct dlt_error *error);
void dlt_history_destroy(struct dlt_history *history);

/* What is asked. Zero-initialise, then set what is known. */
struct dlt_question {
    const char
        *device;       /* device name, catalogue alias or GRES type; NULL: the profile's only one */
    int devices;       /* devices in all; 0: 1 */
    int nodes;         /* nodes in all, no more than devices; 0: 1 */
    int cpus;          /* CPUs of the job on each node; 0: unknown */
    bool forward_only; /* inference instead of a training step */
    double memory_bytes;   /* memory of one device; 0: from the profile or the catalogue */
    double node_bandwidth; /* bytes/s between nodes, in one direction; 0: 10e9, 100gbe */
    const struct dlt_scaling *scaling; /* NULL: an analytic ring all-reduce */
    const struct dlt_history *history; /* NULL: no corrections. Needs a partition */
    const char *partition;
    double checkpoint_bandwidth; /* bytes/s of checkpoints where the model says none; 0: 0.5 GB/s */
};

/*
 * Prices the model's training (or its forward pass) on a device. A device is looked for in the
 * profile, then in the catalogue of devices (dltime-devices(5)): devices.conf in the installed
 * folder of data, then the site's beside dltime.conf, read at the first question that names a
 * device. Returns 0 and an estimate that the caller destroys, or -1: unknown device, batch missing,
 * ...
 */
int dlt_predict(const struct dlt_model *model, const struct dlt_profile *profile,
                const struct dlt_question *question, struct dlt_estimate **estimate,
                struct dlt_error *error);
void dlt_estimate_destroy(struct dlt_estimate *estimate);

/* Getters. Seconds; NaN where the model did not say enough (no epochs: no job time). */
double dlt_estimate_step_s(const struct dlt_estimate *estimate);
double dlt_estimate_epoch_s(const struct dlt_estimate *estimate);
double dlt_estimate_job_s(const struct dlt_estimate *estimate);
/* Quantile of the step's or the whole job's time; quantile in (0, 1). */
double dlt_estimate_step_quantile(const struct dlt_estimate *estimate, double quantile);
double dlt_estimate_job_quantile(const struct dlt_estimate *estimate, double quantile);
/* Probability in [0, 1] that the job takes longer than seconds; NaN where there is no job time. */
double dlt_estimate_exceeds(const struct dlt_estimate *estimate, double seconds);
/* Bytes on one device at the peak; NaN where unknown. */
double dlt_estimate_memory_bytes(const struct dlt_estimate *estimate);
enum dlt_fits dlt_estimate_fits(const struct dlt_estimate *estimate);
enum dlt_basis dlt_estimate_basis(const struct dlt_estimate *estimate);
/* The device's name as the profile has it; owned by the estimate. */
const char *dlt_estimate_device(const struct dlt_estimate *estimate);

#ifdef __cplusplus
}
#endif
#endif

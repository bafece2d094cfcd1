/*
 * scene.h - a decision while it is being taken: what policy.c, choose.c and mend.c share.
 */
#ifndef DLT_ADVISE_SCENE_H
#define DLT_ADVISE_SCENE_H

#include "policy.h"

struct dlt_scene {
    const struct dlt_config *config;
    const struct dlt_request *request;
    const struct dlt_modes *modes;
    struct dlt_candidate *candidates;
    size_t count;
    struct dlt_decision *decision;
};

/* Adds a sentence to the decision, made printable; does nothing where there are enough. */
__attribute__((format(printf, 3, 4))) void dlt_scene_say(struct dlt_decision *decision,
                                                         bool warning, const char *format, ...);

/* Whether the candidate has an estimate of the whole job's time. */
bool dlt_scene_has_time(const struct dlt_candidate *candidate);

/* Could the job be sent here with good conscience? */
bool dlt_scene_recommends(const struct dlt_scene *scene, const struct dlt_candidate *candidate);

/* "would be ", or "" where the job is being submitted. */
const char *dlt_scene_would_be(const struct dlt_scene *scene);

/* Chooses for --dl-partition=auto: marks the landing candidates anew and says so, or why not. */
void dlt_scene_choose(const struct dlt_scene *scene, enum dlt_objective objective);

/* Sets decision->better: the partition with the shortest run, if that is worth a word. */
void dlt_scene_find_better(const struct dlt_scene *scene);

/* "; on a100 it would run 18 h 39 min less: -p a100", or "". These fill and return buffer. */
const char *dlt_scene_better(const struct dlt_scene *scene, char *buffer, size_t size);

/* What can be done about a job that is longer than `most` seconds, with figures where there are
 * some. */
const char *dlt_scene_mend(const struct dlt_scene *scene, double most, char *buffer, size_t size);

/* "batch=64,accumulate=4 fits; recompute=true needs less; devices of a100 have 40 GiB: -p a100" */
const char *dlt_scene_memory(const struct dlt_scene *scene, const struct dlt_candidate *candidate,
                             char *buffer, size_t size);

#endif

/*
 * finished.h - finished jobs, and what they say about predictions.
 *
 * For each network, partition and user the log of real over predicted time has a robust middle: the
 * median, in which a job that its limit ended counts as "longer than that" (Kaplan and Meier,
 * 1958), and older jobs count less. A site's correction is the median over users of those middles,
 * from three users on, so that no single user, however many jobs he forges, moves it beyond what
 * the others saw. A user's own correction starts from the site's and follows his own jobs as they
 * grow in number.
 */
#ifndef DLT_LEARN_FINISHED_H
#define DLT_LEARN_FINISHED_H

#include "predict/history.h"

enum dlt_finish {
    DLT_COMPLETED,
    DLT_TIMED_OUT, /* its limit ended it: it would have taken longer */
};

struct dlt_finished_job {
    uint64_t network;
    char partition[64];
    char user[64];
    double predicted_s; /* median, before any correction */
    double elapsed_s;
    double age_s; /* since it ended */
    enum dlt_finish finish;
};

enum dlt_finished_order { DLT_FINISHED_UNSORTED, DLT_FINISHED_BY_PLACE, DLT_FINISHED_BY_USER };

struct dlt_finished {
    struct dlt_finished_job *job;
    size_t count, room;
    enum dlt_finished_order order; /* so that thousands of users sort millions of jobs once */
};

/* Appends a copy. Returns 0 or -1 out of memory. */
int dlt_finished_add(struct dlt_finished *finished, const struct dlt_finished_job *job);
void dlt_finished_clear(struct dlt_finished *finished);

struct dlt_finished_settings {
    double half_life_s; /* after which a job counts half; 0: 30 days */
    double site_users;  /* from which a site's correction is made; 0: 3 */
};

/* Corrections for the whole site. Sorts the jobs. history: zero-initialised. */
int dlt_finished_site(struct dlt_finished *finished, const struct dlt_finished_settings *settings,
                      struct dlt_history *history, struct dlt_error *error);

/* Corrections for one user, drawn towards the site's (NULL: none). Sorts the jobs. */
int dlt_finished_user(struct dlt_finished *finished, const char *user,
                      const struct dlt_history *site, const struct dlt_finished_settings *settings,
                      struct dlt_history *history, struct dlt_error *error);

#endif

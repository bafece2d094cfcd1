/*
 * score.h - predictions beside what was measured, by group: what `dltime evaluate` prints and
 * `dltime report` draws.
 */
#ifndef DLT_COMMAND_SCORE_H
#define DLT_COMMAND_SCORE_H

#include <json-c/json.h>
#include <stdint.h>

#include "dltime.h"
#include "learn/random.h"

struct score_key {
    bool network; /* whole runs, else operators */
    bool table;   /* predicted by a table of convolutions */
    bool part;    /* of something that is scored as a whole as well: not in any total */
    char device[96];
    char op[256]; /* operator, or the network's SPEC as the run has it */
    char pass[24], dtype[24];
    enum dlt_basis basis;
};

/* One prediction, seconds. */
struct score_point {
    double seen, predicted;
    double low, high; /* the central 90 % of the prediction */
    double rank;      /* probability that the prediction gave to less than what was seen */
};

/* What means need of any number of predictions. */
struct score_sums {
    double count;
    double mean, squares; /* of what was seen: its mean, and the squares of what is off it */
    double errors_squared, errors, shares; /* of predicted - seen; shares of what was seen */
    double inside, widths;
};

/* Points kept of a group, 3 MiB; the others of one with more are in its sums alone. */
enum { SCORE_POINTS = 65536 };

/* Predictions of one key. */
struct score_group {
    struct score_key key;
    struct score_sums sums;    /* of all */
    struct score_point *point; /* count of them, a fair sample */
    size_t count, room;
    size_t skipped; /* that could not be predicted */
    struct dlt_random random;
};

/* Of some points; NaN where there are none. Seconds, and shares of 1. */
struct score_summary {
    double rmse, mae, mape, median_ape, r2;
    double coverage; /* seen within low and high */
    double width;    /* mean of (high - low) / predicted */
};

/* What a total is of; parts count in none. */
enum scores_of { SCORES_ALL, SCORES_OPERATORS, SCORES_NETWORKS };

struct scores;

/* NULL out of memory. */
struct scores *scores_create(void);
void scores_destroy(struct scores *scores);

/* Returns -1 out of memory. */
int scores_add(struct scores *scores, const struct score_key *key, const struct score_point *point);
/* One that could not be predicted; the key's basis does not count. Returns -1 out of memory. */
int scores_skip(struct scores *scores, const struct score_key *key);

/* Groups in the order in which they came up; the scores' own. */
size_t scores_groups(const struct scores *scores);
const struct score_group *scores_group(const struct scores *scores, size_t index);

/* The median is NaN out of memory, here and below. */
struct score_summary score_summarise(const struct score_point *point, size_t count);
/* The median is that of the points kept. */
struct score_summary score_of_group(const struct score_group *group);
/* count: of the predictions; skipped: of what could not be predicted. */
struct score_summary scores_total(const struct scores *scores, enum scores_of of, size_t *count,
                                  size_t *skipped);
/* The points kept of a total in one malloc'ed array, the caller's to free; NULL out of memory. */
struct score_point *scores_pool(const struct scores *scores, enum scores_of of, size_t *count);

/* {"groups": [...], "operators": {...}, "networks": {...}, "all": {...}} */
struct json_object *scores_json(const struct scores *scores);
/* An aligned table on stdout. */
void scores_print(const struct scores *scores);

#endif

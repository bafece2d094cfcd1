/*
 * score.h - errors of predictions, by group: what `dltime evaluate` prints.
 */
#ifndef DLT_COMMAND_SCORE_H
#define DLT_COMMAND_SCORE_H

#include <json-c/json.h>
#include <stdint.h>

#include "dltime.h"

struct score_key {
    bool network; /* whole runs, else operators */
    bool part;    /* of something that is scored as a whole as well: not in any total */
    char device[96];
    char op[32]; /* operator, or the network's name */
    char pass[24], dtype[24];
    enum dlt_basis basis;
};

struct scores;

/* NULL out of memory. */
struct scores *scores_create(void);
void scores_destroy(struct scores *scores);

/* One prediction: seconds seen, predicted, and the central 90 % of the prediction. Returns -1 out
 * of memory. */
int scores_add(struct scores *scores, const struct score_key *key, double seen, double predicted,
               double low, double high);
/* One that could not be predicted; the key's basis does not count. Returns -1 out of memory. */
int scores_skip(struct scores *scores, const struct score_key *key);

/* {"groups": [...], "operators": {...}, "networks": {...}, "all": {...}} */
struct json_object *scores_json(const struct scores *scores);
/* An aligned table on stdout. */
void scores_print(const struct scores *scores);

#endif

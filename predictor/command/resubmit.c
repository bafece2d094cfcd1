/* SPDX-License-Identifier: Apache-2.0 */
#include "command/resubmit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../plugin/advise/advise.h"
#include "base/error.h"
#include "base/text.h"
#include "command/advise_options.h"
#include "command/command.h"

enum { WORDS = 256, REMEMBERED = 64 };

struct resubmit {
    struct dlt_config config;
    struct dlt_snapshot *snapshot; /* NULL: the configuration describes no partition */
    /* The last lines: one network is submitted again and again. */
    struct {
        char *line;
        char partition[64];
        bool known;
        struct dlt_tag tag;
    } seen[REMEMBERED];
    size_t next;
};

int resubmit_create(const char *conf, struct resubmit **resubmit, struct dlt_error *error)
{
    struct resubmit *r = calloc(1, sizeof *r);
    struct dlt_error ignored;

    *resubmit = NULL;
    if (!r)
        return dlt_fail_memory(error);
    dlt_config_init(&r->config);
    if (dlt_config_load(conf, getuid(), &r->config, conf ? error : &ignored) && conf) {
        resubmit_destroy(r);
        return -1;
    }
    if (r->config.partition_count > 0 && dlt_advice_assume(&r->config, NULL, &r->snapshot, error)) {
        resubmit_destroy(r);
        return -1;
    }
    *resubmit = r;
    return 0;
}

void resubmit_destroy(struct resubmit *resubmit)
{
    if (!resubmit)
        return;
    for (size_t i = 0; i < REMEMBERED; i++)
        free(resubmit->seen[i].line);
    dlt_snapshot_destroy(resubmit->snapshot);
    dlt_config_clear(&resubmit->config);
    free(resubmit);
}

/* Splits at blanks, in place; accounting keeps no quotes. Takes --dl-model out. */
static size_t split(char *line, char **word, const char **spec)
{
    static const char option[] = "--dl-model";
    size_t count = 0, length = sizeof option - 1;
    char *next;

    *spec = NULL;
    while ((next = strsep(&line, " ")) && count < WORDS - 1) {
        if (strncmp(next, option, length) == 0 && next[length] == '=')
            *spec = next + length + 1;
        else if (strcmp(next, option) == 0)
            *spec = strsep(&line, " ");
        else if (*next)
            word[count++] = next;
    }
    word[count] = NULL;
    return count;
}

/* Names of shipped networks have neither folders nor endings. */
static bool is_shipped(const char *spec)
{
    size_t name = strcspn(spec, ",");

    return name > 0 && !memchr(spec, '/', name) && !memchr(spec, '.', name);
}

static bool estimate(struct resubmit *r, const char *spec, const struct dlt_request *request,
                     const char *partition, struct dlt_tag *tag)
{
    struct dlt_advice_question question = {.config = &r->config,
                                           .snapshot = r->snapshot,
                                           .request = request,
                                           .spec = spec,
                                           .modes = {.rehearsal = true}};
    struct dlt_advice *advice = NULL;
    struct dlt_model *model = NULL;
    struct dlt_error ignored;
    bool known = false;

    if (dlt_model_load(spec, NULL, &model, &ignored) ||
        dlt_tag_network(model, &tag->network, &ignored))
        goto out;
    question.model = model;
    if (dlt_advise(&question, &advice, &ignored))
        goto out;
    for (size_t i = 0; i < advice->count && !known; i++) {
        const struct dlt_candidate *c = &advice->candidates[i];

        known = strcmp(c->partition, partition) == 0 && !c->why && c->predicted_s > 0;
        if (known)
            tag->job_s = c->predicted_s;
    }
out:
    dlt_advice_destroy(advice);
    dlt_model_destroy(model);
    return known;
}

static bool estimate_line(struct resubmit *r, const char *line, const char *partition,
                          struct dlt_tag *tag)
{
    char *copy = strdup(line), *word[WORDS];
    struct advise_options options;
    const char *spec;
    size_t words;
    bool known;

    if (!copy)
        return false;
    words = split(copy, word, &spec);
    known = words > 0 && spec && is_shipped(spec) &&
            advise_options_parse(NULL, (int)words, word, &options) == COMMAND_DONE;
    if (known) {
        dlt_text_copy(options.request.partitions, sizeof options.request.partitions, partition);
        options.request.elsewhere = NULL; /* it ran here */
        known = estimate(r, spec, &options.request, partition, tag);
    }
    free(copy);
    return known;
}

bool resubmit_estimate(struct resubmit *r, const char *line, const char *partition,
                       struct dlt_tag *tag)
{
    if (!r->snapshot || !strstr(line, "--dl-model"))
        return false;
    for (size_t i = 0; i < REMEMBERED; i++) {
        if (r->seen[i].line && strcmp(r->seen[i].line, line) == 0 &&
            strcmp(r->seen[i].partition, partition) == 0) {
            *tag = r->seen[i].tag;
            return r->seen[i].known;
        }
    }
    free(r->seen[r->next].line);
    r->seen[r->next].line = strdup(line);
    dlt_text_copy(r->seen[r->next].partition, sizeof r->seen->partition, partition);
    r->seen[r->next].known = estimate_line(r, line, partition, tag);
    r->seen[r->next].tag = *tag;
    r->next = (r->next + 1) % REMEMBERED;
    return r->seen[(r->next + REMEMBERED - 1) % REMEMBERED].known;
}

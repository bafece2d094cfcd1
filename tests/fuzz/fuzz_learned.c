/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what `dltime scaling` and `dltime learn` write, and as a job's comment: refused with
 * a sentence, or values within their bounds. */
#include <math.h>

#include "predict/history.h"
#include "predict/scaling.h"
#include "predict/tag.h"

#include "fuzz.h"

static void check_scaling(const char *path)
{
    static const struct dlt_scaling_case few = {
        .network = "resnet50", .devices = 4, .nodes = 2, .half = true, .ring = 1.5};
    struct dlt_scaling *scaling;
    struct dlt_error error;

    if (dlt_scaling_load(path, &scaling, &error)) {
        fuzz_check_error(&error);
        must(!scaling);
        return;
    }
    must(isfinite(scaling->sigma) && scaling->sigma >= 0);
    must(dlt_scaling_slowdown(scaling, &few) > 0);
    dlt_scaling_destroy(scaling);
}

static void check_history(const char *path)
{
    struct dlt_history *history;
    struct dlt_error error;

    if (dlt_history_load(path, &history, &error)) {
        fuzz_check_error(&error);
        must(!history);
        return;
    }
    for (size_t i = 0; i < history->count; i++) {
        const struct dlt_correction *c = &history->correction[i];
        const struct dlt_correction *found = dlt_history_find(history, c->network, c->partition);

        must(c->factor >= DLT_FACTOR_LEAST && c->factor <= DLT_FACTOR_MOST);
        must(found && (found->network == c->network || found->network == 0));
    }
    dlt_history_destroy(history);
}

/* A tag that is found is found again in what is written of it. */
static void check_tag(const uint8_t *data, size_t size)
{
    char *comment = strndup((const char *)data, size), text[DLT_TAG_SIZE];
    struct dlt_tag tag, again;

    must(comment);
    if (dlt_tag_find(comment, &tag)) {
        must(isfinite(tag.job_s));
        dlt_tag_format(&tag, text);
        must(dlt_tag_find(text, &again) && again.network == tag.network &&
             again.job_s == tag.job_s);
    }
    free(comment);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file("learned.json", data, size);

    check_scaling(path);
    check_history(path);
    check_tag(data, size);
    return 0;
}

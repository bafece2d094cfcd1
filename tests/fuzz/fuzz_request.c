/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as what a user writes: --gres and all other options, key=value of --dl-model with a
 * range of batches, and a job's command line as accounting kept it. */
#include <math.h>

#include "../../plugin/advise/options.h"
#include "command/predict.h"
#include "command/resubmit.h"
#include "graph/model.h"

#include "fuzz.h"

static const char model[] = "{\"input\": [3, 8, 8], \"layers\": [{\"op\": \"flatten\"},"
                            " {\"op\": \"dense\", \"out_features\": 2}]}";

/* The line of the text that an option's name falls upon. */
static bool get(void *context, const char *name, char *text, size_t size)
{
    const char *line = context;
    size_t lines = 1, chosen, length;

    for (const char *p = line; *p; p++)
        lines += *p == '\n';
    chosen = strlen(name) * 7 + (unsigned char)name[0];
    for (chosen %= lines + 1; chosen && line; chosen--)
        line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
    if (!line)
        return false;
    length = strcspn(line, "\n");
    if (length >= size)
        return false;
    memcpy(text, line, length);
    text[length] = '\0';
    return true;
}

static void check_options(char *text)
{
    static const struct dlt_shape shapes[] = {
        {.nodes = 4, .cpus = 64, .gpus = 8, .gpu = "v100"},
        {.nodes = 1, .cpus = 2, .gpus = 0},
        {.nodes = INT_MAX, .cpus = INT_MAX, .gpus = INT_MAX, .gpu = ""}};
    struct dlt_request request;
    struct dlt_placement placement;

    dlt_request_init(&request);
    dlt_request_options(&request, get, text);
    must(isnan(request.time_s) || request.time_s > 0);
    must(request.nodes >= 0 && request.tasks >= 0 && request.cpus_per_task >= 0);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (dlt_request_place(&request, &shapes[i], &placement))
            must(placement.devices > 0 && placement.nodes > 0 && placement.cpus >= 0);
    dlt_request_features(&request, "a100,nvlink");
    dlt_request_wants_gpus(&request);
}

static void check_range(const char *spec)
{
    struct predict_range range;
    struct dlt_error error;
    char *plain = predict_range_take(spec, &range, &error);

    if (!plain) {
        fuzz_check_error(&error);
        return;
    }
    must(range.high == 0 || (range.low >= 1 && range.low <= range.high));
    must(strlen(plain) <= strlen(spec));
    free(plain);
}

/* No shipped network has that name, and the partition no profile: lines are understood, no more. */
static void check_line(const char *text)
{
    static const char conf[] = "partitions = ( { name = \"v100\"; gpus_per_node = 4;"
                               " gpu_type = \"v100\"; profile = \"/nonexistent.dlp\"; } );";
    static struct resubmit *resubmit;
    struct dlt_error error;
    struct dlt_tag tag;
    char *line;

    if (!resubmit) {
        const char *path = fuzz_file("model.json", (const uint8_t *)conf, sizeof conf - 1);

        must(resubmit_create(path, &resubmit, &error) == 0);
    }
    must(!resubmit_estimate(resubmit, text, "v100", &tag));
    must(asprintf(&line, "sbatch --dl-model=none %s", text) > 0);
    must(!resubmit_estimate(resubmit, line, "v100", &tag));
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dlt_gpu_request gpus = {0};
    struct dlt_model *loaded = NULL;
    struct dlt_error error;
    char *text = strndup((const char *)data, size);
    char *spec = NULL;
    const char *path;

    must(text);
    check_line(text);
    path = fuzz_file("model.json", (const uint8_t *)model, sizeof model - 1);
    if (dlt_request_gpus(text, size % 2, &gpus))
        must(gpus.count >= 0 && memchr(gpus.type, 0, sizeof gpus.type));
    check_options(text);
    must(asprintf(&spec, "%s,%s", path, text) > 0);
    check_range(spec);
    if (dlt_model_load(spec, "/nonexistent", &loaded, &error))
        fuzz_check_error(&error);
    else
        must(loaded->training.batch >= 0 && loaded->training.epochs >= 0);
    dlt_model_destroy(loaded);
    free(spec);
    free(text);
    return 0;
}

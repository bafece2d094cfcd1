/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as what a user writes: --gres and all other options, and key=value of --dl-model. */
#include <math.h>

#include "../../plugin/advise/options.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dlt_gpu_request gpus = {0};
    struct dlt_model *loaded = NULL;
    struct dlt_error error;
    char *text = strndup((const char *)data, size);
    char *spec = NULL;
    const char *path = fuzz_file("model.json", (const uint8_t *)model, sizeof model - 1);

    must(text);
    if (dlt_request_gpus(text, size % 2, &gpus))
        must(gpus.count >= 0 && memchr(gpus.type, 0, sizeof gpus.type));
    check_options(text);
    must(asprintf(&spec, "%s,%s", path, text) > 0);
    if (dlt_model_load(spec, "/nonexistent", &loaded, &error))
        fuzz_check_error(&error);
    else
        must(loaded->training.batch >= 0 && loaded->training.epochs >= 0);
    dlt_model_destroy(loaded);
    free(spec);
    free(text);
    return 0;
}

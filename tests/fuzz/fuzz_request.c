/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as what a user writes: --gres, and key=value of --dl-model. */
#include "../../plugin/advise/request.h"
#include "graph/model.h"

#include "fuzz.h"

static const char model[] = "{\"input\": [3, 8, 8], \"layers\": [{\"op\": \"flatten\"},"
                            " {\"op\": \"dense\", \"out_features\": 2}]}";

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

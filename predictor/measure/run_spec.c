/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "measure/measurements.h"

static bool begins_with(const char *text, const char *name)
{
    while (*name && dlt_text_lower(*text) == *name) {
        text++;
        name++;
    }
    return *name == '\0';
}

enum dlt_framework dlt_run_framework(const struct dlt_run *run)
{
    for (int f = 0; f < DLT_FRAMEWORK_NONE; f++)
        if (begins_with(run->framework, dlt_framework_names[f]))
            return (enum dlt_framework)f;
    return DLT_FRAMEWORK_NONE;
}

/* Samples that one of a throughput's units is; NaN where that is not known. */
static double samples_of(const struct dlt_run *run)
{
    static const char *const samples[] = {"images/s", "samples/s", "sequences/s", "sentences/s"};

    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        if (strcmp(run->unit, samples[i]) == 0)
            return 1;
    return strcmp(run->unit, "tokens/s") == 0 && run->sequence > 0 ? 1 / (double)run->sequence
                                                                   : NAN;
}

double dlt_run_seconds(const struct dlt_run *run)
{
    double samples = (double)run->batch * (run->devices > 0 ? run->devices : 1);

    if (run->pass == DLT_FORWARD && run->forward_s > 0)
        return run->forward_s;
    if (run->step_s > 0)
        return run->step_s;
    if (run->forward_s > 0 && run->backward_s > 0)
        return run->forward_s + run->backward_s;
    return run->throughput > 0 ? samples / (run->throughput * samples_of(run)) : NAN;
}

bool dlt_run_spec(const struct dlt_run *run, char *spec, size_t size)
{
    const struct {
        const char *key, *value;
    } texts[] = {
        {"optimizer", run->optimizer}, {"precision", run->precision}, {"layout", run->layout}};
    FILE *stream = fmemopen(spec, size, "w");
    bool fits;

    if (!stream)
        return false;
    fprintf(stream, "%s,framework=%s,batch=%lld", run->model,
            dlt_framework_names[dlt_run_framework(run)], (long long)run->batch);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].value[0])
            fprintf(stream, ",%s=%s", texts[i].key, texts[i].value);
    if (run->sequence > 0)
        fprintf(stream, ",seq=%lld", (long long)run->sequence);
    fits = ftell(stream) < (long)size - 1;
    return fclose(stream) == 0 && fits;
}

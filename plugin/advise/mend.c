/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "scene.h"

/* "; on a100 it would run 18 h 39 min less: -p a100", or "". */
const char *dlt_scene_better(const struct dlt_scene *scene, char *buffer, size_t size)
{
    const struct dlt_candidate *better, *here;
    char less[32];

    buffer[0] = '\0';
    if (scene->decision->better >= 0) {
        better = &scene->candidates[scene->decision->better];
        here = &scene->candidates[scene->decision->slowest];
        dlt_text_difference(less, here->job_s - better->job_s);
        snprintf(buffer, size, "; on %s it would run %s less: -p %s", better->partition, less,
                 better->partition);
    }
    return buffer;
}

/* What else can be done about a job that is longer than `most` seconds, with figures where there
 * are some. */
const char *dlt_scene_mend(const struct dlt_scene *scene, double most, char *buffer, size_t size)
{
    const struct dlt_candidate *here = &scene->candidates[scene->decision->slowest];
    char better[200], more[100] = "", took[32];

    if (here->more_devices > 0)
        snprintf(more, sizeof more, ", or take %d %ss (about %s)", here->more_devices,
                 here->gpu ? "GPU" : "node", dlt_text_from_duration(took, here->more_job_s));
    else if (here->gpu)
        snprintf(more, sizeof more, ", or take more GPUs");
    snprintf(buffer, size, "write checkpoints and requeue (%.0f runs)%s%s",
             fmax(2, fmin(ceil(here->job_s / most), 1e6)), more,
             dlt_scene_better(scene, better, sizeof better));
    return buffer;
}

/* "batch=64,accumulate=4 fits; recompute=true needs less, and so does -p a100 (40 GiB)" */
const char *dlt_scene_memory(const struct dlt_scene *scene, const struct dlt_candidate *candidate,
                             char *buffer, size_t size)
{
    size_t roomy = scene->count, used, others = 0, larger = 0;
    char have[32];

    for (size_t i = 0; i < scene->count; i++) {
        const struct dlt_candidate *other = &scene->candidates[i];

        others += !other->landing && !other->why;
        larger += !other->landing && !other->why && other->fits != DLT_FITS_NO;
        if (scene->modes->partition == DLT_PARTITION_SUGGEST && !other->landing &&
            dlt_scene_recommends(scene, other) && other->fits == DLT_FITS_YES &&
            (roomy == scene->count || other->job_s < scene->candidates[roomy].job_s))
            roomy = i;
    }
    if (candidate->fitting_batch > 0)
        snprintf(buffer, size, "batch=%lld,accumulate=%lld fits; recompute=true needs less",
                 (long long)candidate->fitting_batch, (long long)candidate->fitting_accumulate);
    else
        snprintf(buffer, size, "take a smaller batch with accumulate=, or recompute=true");
    used = strlen(buffer);
    if (roomy < scene->count)
        snprintf(buffer + used, size - used, "; devices of %s have %s: -p %s",
                 scene->candidates[roomy].partition,
                 dlt_text_from_bytes(have, scene->candidates[roomy].device_memory_bytes),
                 scene->candidates[roomy].partition);
    else if (others > 0 && larger == 0)
        snprintf(buffer + used, size - used, "; no other partition here has devices large enough");
    else
        snprintf(buffer + used, size - used, "; or take a larger device");
    return buffer;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What networks read of the profiles that are shipped. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "dltime.h"
#include "predict/profile_format.h"
#include "test.h"

/* Of each family one, and what may be read for it. Transformers that begin with convolutions read
 * both kinds' sections, which is more than the rest keep to. */
static const struct {
    const char *spec;
    size_t kib;
} networks[] = {
    {"resnet50,batch=64", 256},       {"vgg16,batch=32", 256},
    {"efficientnet_b4,batch=8", 256}, {"ssd300,batch=8", 256},
    {"convnext_base,batch=8", 256},   {"bert_large,batch=8", 256},
    {"gpt3_xl,batch=1", 256},         {"t5_base,batch=4", 256},
    {"switch_base,batch=1", 256},     {"transformer_xl_base,batch=8", 256},
    {"gnmt,batch=32", 256},           {"swin_t,batch=8", 328},
};

static size_t touched(const char *path, const char *spec)
{
    const struct dlt_question question = {.devices = 1, .nodes = 1};
    struct dlt_profile *profile = NULL;
    struct dlt_estimate *estimate = NULL;
    struct dlt_model *model = NULL;
    struct dlt_error error = {0};
    size_t bytes;

    if (dlt_model_load(spec, NULL, &model, &error) || dlt_profile_load(path, &profile, &error) ||
        dlt_predict(model, profile, &question, &estimate, &error))
        fail_msg("%s by %s: %s", spec, path, error.text);
    bytes = dlt_profile_touched(profile);
    dlt_estimate_destroy(estimate);
    dlt_profile_destroy(profile);
    dlt_model_destroy(model);
    return bytes;
}

/* The general one is left out: for a device that nobody measured it asks several. */
static void a_network_reads_a_small_part_of_a_devices_profile(void **state)
{
    glob_t found = {0};

    (void)state;
    assert_int_equal(glob("etc/profiles/*-*.dlp", 0, NULL, &found), 0);
    assert_in_range(found.gl_pathc, 11, 100);
    for (size_t p = 0; p < found.gl_pathc; p++)
        for (size_t n = 0; n < sizeof networks / sizeof *networks; n++) {
            size_t bytes = touched(found.gl_pathv[p], networks[n].spec);

            if (bytes > networks[n].kib << 10)
                fail_msg("%s reads %zu bytes of %s", networks[n].spec, bytes, found.gl_pathv[p]);
        }
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_reads_a_small_part_of_a_devices_profile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

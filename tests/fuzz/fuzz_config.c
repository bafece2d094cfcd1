/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as dltime.conf: refused with a sentence, or values within their bounds. */
#include <math.h>

#include "../../plugin/advise/config.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dlt_config config;
    struct dlt_error error;

    if (dlt_config_load(fuzz_file("dltime.conf", data, size), DLT_NOBODY, &config, &error)) {
        fuzz_check_error(&error);
        must(config.partition_count == 0);
    }
    must(config.confidence > 0 && config.confidence < 1);
    must(config.grain_s > 0 && isfinite(config.grain_s));
    must(config.min_limit_s <= config.max_limit_s);
    must(config.deadline_s > 0);
    dlt_config_clear(&config);
    return 0;
}

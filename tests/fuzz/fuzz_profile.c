/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a profile: refused, or prices that are positive or unknown, never nonsense. The
 * checksums are made right first, so that what stands behind them is reached. */
#include <math.h>

#include "predict/checksum.h"
#include "predict/profile_format.h"

#include "fuzz.h"

static void mend_checksums(unsigned char *bytes, size_t size)
{
    struct dlt_file_header header;

    if (size < sizeof header)
        return;
    memcpy(&header, bytes, sizeof header);
    header.file_size = size;
    if (header.directory_size < sizeof header || header.directory_size > size)
        return;
    for (uint32_t i = 0; i < header.section_count && i < 64; i++) {
        struct dlt_file_section section;
        uint64_t at = header.section_offset + (uint64_t)i * sizeof section;

        if (at > size || size - at < sizeof section)
            break;
        memcpy(&section, bytes + at, sizeof section);
        if (section.offset <= size && section.size <= size - section.offset) {
            section.checksum = dlt_checksum(bytes + section.offset, section.size, 0);
            memcpy(bytes + at, &section, sizeof section);
        }
    }
    header.directory_checksum = 0;
    memcpy(bytes, &header, sizeof header);
    header.directory_checksum = dlt_checksum(bytes, header.directory_size, 0);
    memcpy(bytes, &header, sizeof header);
}

static void check_prices(const struct dlt_profile *profile, size_t entry)
{
    static const char *const kinds[] = {"conv2d", "dense", "softmax", "elementwise"};
    struct dlt_step_parameters step;

    must(dlt_profile_device(profile, entry) && dlt_profile_software(profile, entry));
    dlt_profile_step(profile, entry, DLT_PYTORCH, &step);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const struct dlt_record_kind *kind = dlt_record_kind_find(kinds[k]);
        struct dlt_record record;
        struct dlt_price price;

        must(kind);
        record = dlt_record_make(kind);
        dlt_profile_price(profile, entry, &record, &price);
        must(isnan(price.seconds) || (price.seconds > 0 && isfinite(price.seconds)));
        must(price.extrapolated >= 0 && price.extrapolated <= 1);
    }
}

static void use(const uint8_t *data, size_t size, bool mend)
{
    struct dlt_profile *profile = NULL;
    struct dlt_error error;
    unsigned char *bytes = malloc(size ? size : 1);

    must(bytes);
    memcpy(bytes, data, size);
    if (mend)
        mend_checksums(bytes, size);
    if (dlt_profile_from_memory(bytes, size, "fuzz", &profile, &error)) {
        fuzz_check_error(&error);
        return;
    }
    for (size_t entry = 0; entry < dlt_profile_entry_count(profile); entry++)
        check_prices(profile, entry);
    dlt_profile_check(profile, &error);
    dlt_profile_destroy(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    use(data, size, false);
    use(data, size, true);
    return 0;
}

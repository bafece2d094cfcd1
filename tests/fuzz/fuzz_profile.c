/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a profile: refused, or prices and times of a network that are positive or unknown,
 * never nonsense. The checksums are made right first, so that what stands behind them is reached.
 * And as the bytes of one section: forests, which only many rows get, and tables of any shape. */
#include <math.h>

#include "device/devices.h"
#include "predict/checksum.h"
#include "predict/prepare.h"
#include "predict/profile_format.h"
#include "predict/section.h"
#include "predict/table.h"

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
            section.checksum = dlt_checksum(bytes + section.offset, section.size, i);
            memcpy(bytes + at, &section, sizeof section);
        }
    }
    header.directory_checksum = 0;
    memcpy(bytes, &header, sizeof header);
    header.directory_checksum =
        dlt_checksum(bytes + sizeof header, header.directory_size - sizeof header,
                     dlt_checksum(bytes, sizeof header, 0));
    memcpy(bytes, &header, sizeof header);
}

/* A layer of each kind that is priced in a way of its own. */
static const char layers[] =
    "{\"inputs\": {\"image\": [3, 16, 16], \"text\": {\"shape\": [8], \"dtype\": \"int64\"}}, "
    "\"layers\": [{\"op\": \"conv2d\", \"out_channels\": 8, \"kernel_size\": 3, \"padding\": 1, "
    "\"inputs\": [\"image\"]}, {\"op\": \"batch_norm\"}, {\"op\": \"relu\"}, "
    "{\"op\": \"max_pool2d\", \"kernel_size\": 2}, {\"op\": \"flatten\"}, "
    "{\"op\": \"dense\", \"out_features\": 4}, {\"op\": \"softmax\", \"dim\": 1}, "
    "{\"op\": \"embedding\", \"num_embeddings\": 32, \"embedding_dim\": 8, "
    "\"inputs\": [\"text\"]}, {\"op\": \"multi_head_attention\", \"embed_dim\": 8, "
    "\"num_heads\": 2, \"batch_first\": true}, {\"op\": \"layer_norm\"}, "
    "{\"op\": \"lstm\", \"hidden_size\": 4, \"batch_first\": true}, {\"op\": \"flatten\"}]}";
static const char keys[] = "batch=4,epochs=2,samples=100,optimizer=adam,framework=";

static struct dlt_prepared *prepare(const char *framework, const char *precision)
{
    struct dlt_prepared *prepared;
    struct dlt_model *model; /* outlives it */
    struct dlt_error error;
    char spec[512];

    snprintf(spec, sizeof spec, "%s,%s%s,precision=%s",
             fuzz_file("model.json", (const uint8_t *)layers, sizeof layers - 1), keys, framework,
             precision);
    must(dlt_model_load(spec, "/nonexistent", &model, &error) == 0);
    must(dlt_prepare(model, &prepared, &error) == 0);
    return prepared;
}

static void check_estimate(const struct dlt_estimate *estimate, double limit_s)
{
    double usual = dlt_estimate_job_quantile(estimate, 0.5);
    double most = dlt_estimate_job_quantile(estimate, 0.99);
    double exceeds = dlt_estimate_exceeds(estimate, limit_s);

    must(dlt_estimate_step_s(estimate) > 0 && isfinite(dlt_estimate_step_s(estimate)));
    must(dlt_estimate_job_s(estimate) > 0 && isfinite(dlt_estimate_job_s(estimate)));
    must(usual > 0 && most >= usual);
    must(exceeds >= 0 && exceeds <= 1);
    must(dlt_estimate_memory_bytes(estimate) > 0);
    must(dlt_estimate_device(estimate)[0]);
}

/* What a profile says of the network on one of its devices, or on one of which it may know nothing.
 */
static void check_network(const struct dlt_profile *profile, const char *device)
{
    static struct dlt_prepared *prepared[3];
    struct dlt_error error;

    if (!prepared[0]) {
        must(dlt_devices_load("etc/devices.conf", &error) == 0);
        prepared[0] = prepare("pytorch", "float32");
        prepared[1] = prepare("pytorch", "amp-float16");
        prepared[2] = prepare("tensorflow", "float32");
    }
    for (size_t i = 0; i < 6; i++) {
        struct dlt_question question = {.device = device, .forward_only = i % 2};
        struct dlt_estimate *estimate;

        if (dlt_predict_prepared(prepared[i / 2], profile, &question, &estimate, &error))
            fuzz_check_error(&error);
        else
            check_estimate(estimate, 3600);
        dlt_estimate_destroy(estimate);
    }
}

static void check_entry(const struct dlt_profile *profile, size_t entry)
{
    const struct dlt_device *device = dlt_profile_device(profile, entry);
    struct dlt_step_parameters step;

    must(device && dlt_profile_software(profile, entry));
    dlt_profile_step(profile, entry, DLT_PYTORCH, &step);
    check_network(profile, device->name);
}

static const char *const kinds[] = {"conv2d", "dense", "softmax", "elementwise"};

/* Prices of records that say nothing but their kind. */
static void check_prices(const struct dlt_profile *profile, size_t entry)
{
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
    for (size_t entry = 0; entry < dlt_profile_entry_count(profile); entry++) {
        check_prices(profile, entry);
        check_entry(profile, entry);
    }
    check_network(profile, "V100");
    dlt_profile_check(profile, &error);
    dlt_profile_destroy(profile);
}

/* Goes wherever a section's numbers lead. */
static void use_section(const struct dlt_section *section)
{
    static const struct dlt_device device;

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const struct dlt_record record = dlt_record_make(dlt_record_kind_find(kinds[k]));
        struct dlt_answer answer;

        dlt_section_answer(section, &device, &record, &answer);
        must(answer.extrapolated >= 0 && answer.extrapolated <= 1);
    }
}

static void use_table(const struct dlt_table *table)
{
    const struct dlt_record record = dlt_record_make(dlt_record_kind_find("conv2d"));
    struct dlt_table_shape shape;

    must(dlt_table_shape_of(&record, &shape));
    for (int slot = 0; slot < DLT_TABLE_SLOTS; slot++) {
        dlt_table_near(table, &shape, 3, (enum dlt_table_slot)slot);
        for (uint32_t i = 0; i < table->head->shapes; i++)
            dlt_table_known(table, &table->shape[i], 3, (enum dlt_table_slot)slot);
    }
}

static void use_bytes(const uint8_t *data, size_t size)
{
    unsigned char *bytes = malloc(size + 1);
    struct dlt_section section = {0};
    struct dlt_table table;

    must(bytes);
    memcpy(bytes, data, size);
    if (dlt_section_parse(bytes, size, &section) && dlt_section_trees_are_sound(&section))
        use_section(&section);
    if (dlt_table_parse(bytes, size, &table))
        use_table(&table);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    use_bytes(data, size);
    use(data, size, false);
    use(data, size, true);
    return 0;
}

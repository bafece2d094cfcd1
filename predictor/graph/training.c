/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of `training`: one row each. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/known.h"
#include "base/text.h"
#include "graph/training.h"

const char *const dlt_precision_names[DLT_PRECISIONS] = {"float32",  "tf32",        "float16",
                                                         "bfloat16", "amp-float16", "amp-bfloat16"};
const char *const dlt_framework_names[DLT_FRAMEWORKS] = {"pytorch", "tensorflow", "jax", "none"};
const char *const dlt_sharding_names[DLT_SHARDINGS] = {"ddp", "zero1", "zero2", "zero3", "fsdp"};

enum key_type { KEY_COUNT, KEY_NUMBER, KEY_GIB, KEY_MB, KEY_TIME, KEY_BOOL, KEY_NAME };

struct key {
    const char *name;
    enum key_type type;
    size_t offset;
    double least, most;
    const char *const *names;
    size_t name_count;
};

#define FIELD(name) offsetof(struct dlt_training, name)
#define COUNT(name, least, most)                                                                   \
    {                                                                                              \
#name, KEY_COUNT, FIELD(name), least, most, NULL, 0                                        \
    }
#define BOOL(name)                                                                                 \
    {                                                                                              \
#name, KEY_BOOL, FIELD(name), 0, 1, NULL, 0                                                \
    }
#define NAME(name, names, count)                                                                   \
    {                                                                                              \
#name, KEY_NAME, FIELD(name), 0, 0, names, count                                           \
    }

static const struct key keys[] = {
    COUNT(samples, 1, 1e15),
    COUNT(batch, 1, 2147483647),
    COUNT(global_batch, 1, 2147483647),
    {"epochs", KEY_NUMBER, FIELD(epochs), 1e-9, 1e9, NULL, 0},
    COUNT(steps, 1, 1e15),
    COUNT(start_epoch, 0, 1e9),
    COUNT(seq, 1, 2147483647),
    NAME(optimizer, dlt_optimizer_names, DLT_OPTIMIZERS),
    NAME(implementation, dlt_implementation_names, DLT_IMPLEMENTATIONS),
    NAME(precision, dlt_precision_names, DLT_PRECISIONS),
    NAME(layout, dlt_layout_names, DLT_LAYOUTS),
    NAME(framework, dlt_framework_names, DLT_FRAMEWORKS),
    BOOL(compile),
    COUNT(accumulate, 1, 1e9),
    BOOL(drop_last),
    BOOL(recompute),
    NAME(sharding, dlt_sharding_names, DLT_SHARDINGS),
    COUNT(devices, 1, 1e6),
    COUNT(validation_samples, 0, 1e15),
    {"checkpoint_every", KEY_NUMBER, FIELD(checkpoint_every), 0, 1e9, NULL, 0},
    {"checkpoint_gib", KEY_GIB, FIELD(checkpoint_bytes), 0, 1e9, NULL, 0},
    {"checkpoint_mb_per_s", KEY_MB, FIELD(checkpoint_bandwidth), 1e-3, 1e9, NULL, 0},
    {"loader_samples_per_s", KEY_NUMBER, FIELD(loader_samples_per_s), 1e-9, 1e15, NULL, 0},
    {"setup", KEY_TIME, FIELD(setup_s), 0, 1e9, NULL, 0},
    COUNT(runs, 1, 1e9),
};
enum { KEYS = sizeof keys / sizeof *keys };

/* Of two keys that exclude each other, the one set last counts. */
static const struct {
    const char *name[2];
} exclusive[] = {{{"batch", "global_batch"}}, {{"epochs", "steps"}}};
enum { EXCLUSIVE = sizeof exclusive / sizeof *exclusive };

static const char *const model_parallel[] = {"tensor_parallel",
                                             "pipeline_parallel",
                                             "model_parallel",
                                             "expert_parallel",
                                             "sequence_parallel",
                                             "context_parallel",
                                             "tensor_parallel_size",
                                             "pipeline_parallel_size",
                                             "tp_size",
                                             "pp_size"};

void dlt_training_defaults(struct dlt_training *training)
{
    *training = (struct dlt_training){.optimizer = DLT_SGD,
                                      .implementation = DLT_FOREACH,
                                      .precision = DLT_PRECISION_FLOAT32,
                                      .layout = DLT_NCHW,
                                      .framework = DLT_PYTORCH,
                                      .accumulate = 1,
                                      .sharding = DLT_DDP,
                                      .checkpoint_bytes = NAN,
                                      .setup_s = NAN,
                                      .runs = 1};
}

size_t dlt_training_key_count(void)
{
    return KEYS;
}

const char *dlt_training_key_name(size_t index)
{
    return keys[index].name;
}

const char *dlt_training_key_word(size_t index, size_t value)
{
    static const char *const flags[] = {"true", "false"};
    const struct key *key = &keys[index];

    if (key->type == KEY_BOOL)
        return value < 2 ? flags[value] : NULL;
    return value < key->name_count ? key->names[value] : NULL;
}

static const struct key *find_key(const char *name)
{
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

static int fail_unknown(const char *name, struct dlt_error *error)
{
    const char *names[KEYS];
    const char *nearest;

    for (size_t i = 0; i < sizeof model_parallel / sizeof *model_parallel; i++)
        if (strcmp(model_parallel[i], name) == 0)
            return dlt_fail(error,
                            "%s: model parallelism is not supported; dltime predicts data-parallel "
                            "training (see \"devices\" and \"sharding\")",
                            name);
    for (size_t i = 0; i < KEYS; i++)
        names[i] = keys[i].name;
    nearest = dlt_text_nearest(name, names, KEYS);
    if (nearest)
        return dlt_fail(error, "%s: unknown training key; did you mean \"%s\"?", name, nearest);
    return dlt_fail(error, "%s: unknown training key; dltime-model(5) lists them", name);
}

/* Other tools' short names of precisions, which are near to none of ours. */
static const struct {
    const char *said, *meant;
} short_names[] = {
    {"fp32", "float32"}, {"fp16", "float16"}, {"half", "float16"}, {"bf16", "bfloat16"}};
enum { SHORT_NAMES = sizeof short_names / sizeof *short_names };

static int fail_name(const struct key *key, const char *value, struct dlt_error *error)
{
    const char *nearest = dlt_text_nearest(value, key->names, key->name_count);
    char all[256] = "";
    size_t used = 0;

    for (size_t i = 0; key->names == dlt_precision_names && i < SHORT_NAMES; i++)
        if (dlt_text_same(value, short_names[i].said))
            nearest = short_names[i].meant;
    if (nearest)
        return dlt_fail(error, "%s: \"%s\" is not known; did you mean \"%s\"?", key->name, value,
                        nearest);
    for (size_t i = 0; i < key->name_count; i++)
        used +=
            (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", key->names[i]);
    return dlt_fail(error, "%s: \"%s\" is not known; it is one of %s", key->name, value, all);
}

/* A number in the key's range; whole ones may be written as 1.28e6 as well. */
static int read_number(const struct key *key, const char *value, double *number,
                       struct dlt_error *error)
{
    const char *what = key->type == KEY_COUNT ? "a whole number" : "a number";
    char least[32], most[32];

    if (strcmp(key->name, "batch") == 0 && dlt_text_is_digit(value[0]) && strchr(value, ':'))
        return dlt_fail(error,
                        "batch: \"%s\" is a range, which only `dltime predict` takes; "
                        "name one batch",
                        value);
    if (!dlt_text_to_double(value, number) || value[strspn(value, "+-.0123456789eE")] ||
        (key->type == KEY_COUNT && floor(*number) != *number))
        return dlt_fail(error, "%s: \"%s\" is not %s", key->name, value, what);
    if (*number < key->least || *number > key->most)
        return dlt_fail(error, "%s: %s is outside %s to %s", key->name, value,
                        dlt_text_from_double(least, key->least, 10),
                        dlt_text_from_double(most, key->most, 10));
    return 0;
}

static int read_bool(const struct key *key, const char *value, bool *flag, struct dlt_error *error)
{
    static const char *const words[2][4] = {{"false", "no", "0", "off"},
                                            {"true", "yes", "1", "on"}};

    for (size_t i = 0; i < 2; i++)
        if (dlt_name_index(words[i], 4, value) >= 0) {
            *flag = i == 1;
            return 0;
        }
    return dlt_fail(error, "%s: \"%s\" is neither true nor false", key->name, value);
}

static int set_key(struct dlt_training *training, const struct key *key, const char *value,
                   struct dlt_error *error)
{
    void *field = (char *)training + key->offset;
    double number = 0;
    int index;

    switch (key->type) {
    case KEY_NAME:
        index = dlt_name_index(key->names, key->name_count, value);
        if (index < 0)
            return fail_name(key, value, error);
        *(unsigned *)field = (unsigned)index;
        return 0;
    case KEY_BOOL:
        return read_bool(key, value, field, error);
    case KEY_TIME:
        if ((!dlt_text_to_double(value, &number) && !dlt_text_to_duration(value, 1, &number)) ||
            number < 0 || number > key->most)
            return dlt_fail(error, "%s: \"%s\" is not a time; write 90, 90s, 15m, 2h or HH:MM:SS",
                            key->name, value);
        *(double *)field = number;
        return 0;
    case KEY_COUNT:
        if (read_number(key, value, &number, error))
            return -1;
        *(int64_t *)field = (int64_t)number;
        return 0;
    default:
        if (read_number(key, value, &number, error))
            return -1;
        *(double *)field = number * (key->type == KEY_GIB  ? 1073741824.0
                                     : key->type == KEY_MB ? 1e6
                                                           : 1);
        return 0;
    }
}

/* The one set last counts: `batch` on a command line replaces the file's `global_batch`. */
static void clear_rival(struct dlt_training *training, const struct key *key)
{
    for (size_t i = 0; i < EXCLUSIVE; i++)
        for (size_t k = 0; k < 2; k++) {
            const struct key *rival;

            if (strcmp(exclusive[i].name[k], key->name) != 0)
                continue;
            rival = find_key(exclusive[i].name[1 - k]);
            DLT_KNOWN(rival);
            if (rival->type == KEY_COUNT)
                *(int64_t *)(void *)((char *)training + rival->offset) = 0;
            else
                *(double *)(void *)((char *)training + rival->offset) = 0;
        }
}

int dlt_training_set(struct dlt_training *training, const char *key, const char *value,
                     struct dlt_error *error)
{
    const struct key *row = find_key(key);

    if (!row)
        return fail_unknown(key, error);
    if (set_key(training, row, value, error))
        return -1;
    clear_rival(training, row);
    return 0;
}

int dlt_training_apply(struct dlt_training *training, struct dlt_training_seen *seen,
                       const char *key, const char *value, struct dlt_error *error)
{
    const struct key *row = find_key(key);

    if (row && seen->keys >> (row - keys) & 1)
        return dlt_fail(error, "%s: given twice; keep one of them", key);
    if (dlt_training_set(training, key, value, error))
        return -1;
    seen->keys |= UINT64_C(1) << (row - keys);
    for (size_t i = 0; i < EXCLUSIVE; i++) {
        const char *one = exclusive[i].name[0], *other = exclusive[i].name[1];

        if (seen->keys >> (find_key(one) - keys) & 1 && seen->keys >> (find_key(other) - keys) & 1)
            return dlt_fail(error, "%s: give either %s or %s, not both", key, one, other);
    }
    return 0;
}

int64_t dlt_training_batch(const struct dlt_training *training, int devices)
{
    if (training->batch > 0)
        return training->batch;
    if (devices < 1)
        devices = 1;
    return (training->global_batch + devices - 1) / devices;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "device/device.h"

enum { NAME_LENGTH = 128 };

/* A device's name taken apart. "" or 0: the name does not say. */
struct parts {
    char model[NAME_LENGTH]; /* "v100", "1080ti", "epyc7763" */
    char form[16];           /* "pcie", "sxm4" */
    long memory_gb;
    char slice[24]; /* "1g10gb" */
};

static bool in_table(const char *const *table, const char *word)
{
    for (; *table; table++)
        if (strcmp(*table, word) == 0)
            return true;
    return false;
}

/* Words that tell no two devices apart. */
static bool is_noise(const char *word)
{
    static const char *const noise[] = {
        "nvidia",    "tesla",  "geforce",     "quadro",      "amd",  "ati",
        "instinct",  "radeon", "intel",       "corporation", "gpu",  "graphics",
        "r",         "tm",     "cpu",         "processor",   "core", "generation",
        "blackwell", "server", "workstation", "edition",     "mig",  "me",
        "hbm2",      "hbm2e",  "hbm3e",       "dgx",         NULL};

    return in_table(noise, word);
}

static bool is_form(const char *word)
{
    static const char *const forms[] = {"pcie", "pci", "nvl", "oam", "dgxs", "fhhl", NULL};

    return in_table(forms, word) ||
           (strncmp(word, "sxm", 3) == 0 &&
            (word[3] == '\0' || (dlt_text_is_digit(word[3]) && word[4] == '\0')));
}

/* "16gb", "16gib", "32g": its number, else 0. */
static long memory_of(const char *word)
{
    char *end;
    long number;

    if (!dlt_text_is_digit(*word))
        return 0;
    number = strtol(word, &end, 10);
    return strcmp(end, "gb") == 0 || strcmp(end, "gib") == 0 || strcmp(end, "g") == 0 ? number : 0;
}

/* The compute part of a MIG slice, one to seven sevenths. Larger numbers are sizes of memory. */
static bool is_slice(const char *word)
{
    return word[0] >= '1' && word[0] <= '7' && word[1] == 'g' && word[2] == '\0';
}

static void append(char *to, size_t size, const char *word)
{
    size_t used = strlen(to);

    dlt_text_copy(to + used, size - used, word);
}

static bool is_number(const char *word)
{
    return *word && word[strspn(word, "0123456789")] == '\0';
}

/* Takes the next run of letters and digits, lower-cased, into word. False at the end, which for a
 * CPU is the clock rate behind '@'. */
static bool next_word(const char **at, char word[NAME_LENGTH])
{
    size_t length = 0;

    while (**at && **at != '@' && !dlt_text_is_alnum(**at))
        ++*at;
    for (; dlt_text_is_alnum(**at); ++*at)
        if (length < NAME_LENGTH - 1)
            word[length++] = dlt_text_lower(**at);
    word[length] = '\0';
    return length > 0;
}

/* Drops the family's name before a model ("rtx3090", "gtx 1080 ti"), as long as a model is left. */
static void drop_family(char *model)
{
    static const char *const families[] = {"nvidia", "tesla", "geforce", "quadro", "gtx", "rtx"};

    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        size_t length = strlen(families[i]);

        if (strncmp(model, families[i], length) == 0 && model[length])
            memmove(model, model + length, strlen(model + length) + 1);
    }
}

static void take_apart(const char *name, struct parts *parts)
{
    char word[NAME_LENGTH], next[NAME_LENGTH];
    bool more;

    memset(parts, 0, sizeof *parts);
    more = next_word(&name, next);
    while (more) {
        memcpy(word, next, sizeof word);
        more = next_word(&name, next);
        if (is_slice(word)) {
            append(parts->slice, sizeof parts->slice, word);
            if (more && memory_of(next)) {
                append(parts->slice, sizeof parts->slice, next);
                more = next_word(&name, next);
            }
        } else if (is_number(word) && more && strcmp(next, "core") == 0) {
            continue; /* "64-Core Processor" */
        } else if (is_form(word)) {
            dlt_text_copy(parts->form, sizeof parts->form, word);
        } else if (strcmp(word, "hbm3") == 0 && !parts->form[0]) {
            /* "H100 80GB HBM3" is how the driver calls the SXM5 card. */
            dlt_text_copy(parts->form, sizeof parts->form, "sxm");
        } else if (memory_of(word)) {
            parts->memory_gb = memory_of(word);
        } else if (!is_noise(word)) {
            append(parts->model, sizeof parts->model, word);
        }
    }
    drop_family(parts->model);
}

/* "sxm" goes with each "sxm4"; two names of one form are equal. */
static bool forms_agree(const char *a, const char *b)
{
    size_t shorter = strlen(a) < strlen(b) ? strlen(a) : strlen(b);

    return strncmp(a, b, shorter) == 0;
}

bool dlt_device_matches(const char *device_name, const char *name)
{
    struct parts device, asked;

    take_apart(device_name, &device);
    take_apart(name, &asked);
    if (device.slice[0] || asked.slice[0])
        return strcmp(device.slice, asked.slice) == 0 &&
               (!device.model[0] || !asked.model[0] || strcmp(device.model, asked.model) == 0);
    return asked.model[0] && strcmp(device.model, asked.model) == 0 &&
           forms_agree(device.form, asked.form) &&
           (!device.memory_gb || !asked.memory_gb || device.memory_gb == asked.memory_gb);
}

bool dlt_device_same_model(const char *one, const char *other)
{
    struct parts a, b;

    take_apart(one, &a);
    take_apart(other, &b);
    return strcmp(a.model, b.model) == 0;
}

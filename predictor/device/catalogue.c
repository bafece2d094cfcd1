/* SPDX-License-Identifier: Apache-2.0 */
#include "device/catalogue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/known.h"
#include "base/text.h"

enum { ENTRIES = 4096 };

/* One that was replaced stays behind its successor: somebody may hold a pointer to it. */
struct kept {
    struct dlt_catalogue_entry entry;
    struct kept *replaced;
};

static struct kept *entries[ENTRIES];
static size_t count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A child forked while another thread holds the lock would wait for ever for a thread that it does
 * not have: so the lock is held over every fork. */
static void hold(void)
{
    pthread_mutex_lock(&lock);
}

static void let_go(void)
{
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(hold, let_go, let_go);
}

int dlt_catalogue_add(const struct dlt_catalogue_entry *entry, struct dlt_error *error)
{
    struct kept *copy;
    size_t at = 0;
    bool full, known;

    if (!entry->device.name[0])
        return dlt_fail(error, "name: is missing; each device has one");
    copy = malloc(sizeof *copy);
    if (!copy)
        return dlt_fail_memory(error);
    copy->entry = *entry;
    pthread_mutex_lock(&lock);
    while (at < count && !dlt_text_same(entries[at]->entry.device.name, entry->device.name))
        at++;
    full = at == ENTRIES;
    /* Entries begin as zeros, padding too: at worst the same is kept twice.
     * NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
    known = at < count && memcmp(&entries[at]->entry, entry, sizeof *entry) == 0;
    if (!full && !known) {
        copy->replaced = at < count ? entries[at] : NULL;
        entries[at] = copy;
        count += at == count;
    }
    pthread_mutex_unlock(&lock);
    if (full || known)
        free(copy);
    if (full)
        return dlt_fail(error, "the catalogue is full: it holds %d devices", ENTRIES);
    return 0;
}

size_t dlt_catalogue_count(void)
{
    size_t now;

    pthread_mutex_lock(&lock);
    now = count;
    pthread_mutex_unlock(&lock);
    return now;
}

const struct dlt_catalogue_entry *dlt_catalogue_at(size_t index)
{
    const struct dlt_catalogue_entry *entry = NULL;

    pthread_mutex_lock(&lock);
    if (index < count)
        entry = &entries[index]->entry;
    pthread_mutex_unlock(&lock);
    return entry;
}

/* Equal but for letter case and what stands between letters and digits. */
static bool same_letters(const char *a, const char *b)
{
    for (;;) {
        while (*a && !dlt_text_is_alnum(*a))
            a++;
        while (*b && !dlt_text_is_alnum(*b))
            b++;
        if (dlt_text_lower(*a) != dlt_text_lower(*b))
            return false;
        if (!*a)
            return true;
        a++;
        b++;
    }
}

static bool is_named(const struct dlt_catalogue_entry *entry, const char *name)
{
    if (same_letters(entry->device.name, name))
        return true;
    for (size_t i = 0; i < DLT_ALIASES && entry->alias[i][0]; i++)
        if (same_letters(entry->alias[i], name))
            return true;
    return false;
}

static bool is_meant(const struct dlt_catalogue_entry *entry, const char *name)
{
    DLT_KNOWN(entry);
    if (dlt_device_matches(entry->device.name, name))
        return true;
    for (size_t i = 0; i < DLT_ALIASES && entry->alias[i][0]; i++)
        if (dlt_device_matches(entry->alias[i], name))
            return true;
    return false;
}

const struct dlt_device *dlt_catalogue_find(const char *name)
{
    const struct dlt_device *found = NULL;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count && !found; i++)
        if (is_named(&entries[i]->entry, name))
            found = &entries[i]->entry.device;
    for (size_t i = 0; i < count && !found; i++)
        if (is_meant(&entries[i]->entry, name))
            found = &entries[i]->entry.device;
    pthread_mutex_unlock(&lock);
    return found;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/known.h"

static size_t hash_text(const char *text)
{
    size_t hash = 1469598103934665603ULL; /* FNV-1a */

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211ULL;
    return hash;
}

/* The slot that holds text, or the free one where it belongs. room is a power of two. */
static struct dlt_name *locate(const struct dlt_names *names, const char *text, size_t hash)
{
    size_t i = hash & (names->room - 1);

    while (names->slot[i].text &&
           (names->slot[i].hash != hash || strcmp(names->slot[i].text, text) != 0))
        i = (i + 1) & (names->room - 1);
    return &names->slot[i];
}

static int enlarge(struct dlt_names *names)
{
    struct dlt_names larger = {.room = names->room ? names->room * 2 : 256, .count = names->count};

    larger.slot = calloc(larger.room, sizeof *larger.slot);
    if (!larger.slot)
        return -1;
    for (size_t i = 0; i < names->room; i++)
        if (names->slot[i].text)
            *locate(&larger, names->slot[i].text, names->slot[i].hash) = names->slot[i];
    free(names->slot);
    *names = larger;
    return 0;
}

int dlt_names_add(struct dlt_names *names, const char *text, int tensor, int node)
{
    size_t hash = hash_text(text);
    struct dlt_name *slot;

    if (2 * (names->count + 1) > names->room && enlarge(names))
        return -1;
    slot = locate(names, text, hash);
    if (slot->text)
        return 0;
    slot->text = DLT_KEPT(strdup(text));
    if (!slot->text)
        return -1;
    slot->hash = hash;
    slot->tensor = tensor;
    slot->node = node;
    names->count++;
    return 1;
}

const struct dlt_name *dlt_names_find(const struct dlt_names *names, const char *text)
{
    const struct dlt_name *slot;

    if (names->room == 0)
        return NULL;
    slot = locate(names, text, hash_text(text));
    return slot->text ? slot : NULL;
}

void dlt_names_move(struct dlt_names *names, const char *text, int tensor, int node)
{
    struct dlt_name *slot = locate(names, text, hash_text(text));

    slot->tensor = tensor;
    slot->node = node;
}

void dlt_names_clear(struct dlt_names *names)
{
    for (size_t i = 0; i < names->room; i++)
        free(names->slot[i].text);
    free(names->slot);
    *names = (struct dlt_names){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/memo.h"

#include <stdlib.h>
#include <string.h>

/* Both powers of two. Half of the slots stay empty. */
enum { SLOTS_FIRST = 1 << 10, SLOTS_MOST = 1 << 15 };

struct slot {
    bool used;
    struct dlt_memo_key key;
    struct dlt_memo_value value;
};

struct dlt_memo {
    size_t slots, used;
    struct slot *slot;
};

struct dlt_memo *dlt_memo_create(void)
{
    return calloc(1, sizeof(struct dlt_memo));
}

void dlt_memo_forget(struct dlt_memo *memo)
{
    if (!memo)
        return;
    free(memo->slot);
    *memo = (struct dlt_memo){0};
}

void dlt_memo_destroy(struct dlt_memo *memo)
{
    dlt_memo_forget(memo);
    free(memo);
}

_Static_assert(offsetof(struct dlt_memo_key, hash) ==
                       3 * sizeof(uint64_t) + sizeof(struct dlt_record) &&
                   offsetof(struct dlt_record, u) ==
                       sizeof(void *) + 7 * sizeof(enum dlt_pass) + sizeof(int),
               "a key has no gaps, so that its bytes may be compared");

/* FNV-1a by words of 64 bits; the upper half is the better one. */
static uint64_t hash_of(const struct dlt_memo_key *key)
{
    uint64_t words[offsetof(struct dlt_memo_key, hash) / sizeof(uint64_t)];
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = (hash ^ words[i]) * UINT64_C(0x100000001b3);
    return hash >> 32;
}

void dlt_memo_key(struct dlt_memo_key *key, const struct dlt_profile *profile,
                  const struct dlt_file_entry *entry, const struct dlt_device *device,
                  const struct dlt_record *record)
{
    key->profile = profile->serial;
    key->device = device;
    key->entry = (uint64_t)(entry - profile->entry);
    key->record = *record;
    key->hash = hash_of(key);
}

/* The slot that holds the key, or the empty one where it belongs. */
static struct slot *place(const struct dlt_memo *memo, const struct dlt_memo_key *key)
{
    size_t at = key->hash & (memo->slots - 1);

    /* Bytes are compared, padding and all: of two equal keys one may be kept twice, no more. */
    while (memo->slot[at].used &&
           (memo->slot[at].key.hash != key->hash ||
            memcmp(&memo->slot[at].key, key, sizeof *key) != 0)) /* NOLINT(bugprone-*,cert-*) */
        at = (at + 1) & (memo->slots - 1);
    return &memo->slot[at];
}

const struct dlt_memo_value *dlt_memo_find(const struct dlt_memo *memo,
                                           const struct dlt_memo_key *key)
{
    const struct slot *slot = memo && memo->slots ? place(memo, key) : NULL;

    return slot && slot->used ? &slot->value : NULL;
}

/* Twice the room; false where there is none. */
static bool grow(struct dlt_memo *memo)
{
    struct dlt_memo larger = {.slots = memo->slots ? 2 * memo->slots : SLOTS_FIRST};

    if (larger.slots > SLOTS_MOST)
        return false;
    larger.slot = calloc(larger.slots, sizeof *larger.slot);
    if (!larger.slot)
        return false;
    for (size_t i = 0; i < memo->slots; i++)
        if (memo->slot[i].used)
            *place(&larger, &memo->slot[i].key) = memo->slot[i];
    free(memo->slot);
    memo->slot = larger.slot;
    memo->slots = larger.slots;
    return true;
}

void dlt_memo_keep(struct dlt_memo *memo, const struct dlt_memo_key *key,
                   const struct dlt_memo_value *value)
{
    struct slot *slot;

    if (!memo || (2 * memo->used >= memo->slots && !grow(memo)))
        return;
    slot = place(memo, key);
    if (slot->used)
        return;
    *slot = (struct slot){.used = true, .key = *key, .value = *value};
    memo->used++;
}

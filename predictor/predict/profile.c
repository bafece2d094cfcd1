/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/profile.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "predict/checksum.h"
#include "predict/profile_format.h"
#include "predict/step.h"
#include "predict/table.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "profiles are little-endian");

static const char retrain[] = "train it again with `dltime train`";

static int damaged(const char *path, const char *what, struct dlt_error *error)
{
    return dlt_fail(error, "%s: %s; copy the profile again, or %s", path, what, retrain);
}

/* A table of the directory: count rows of one size, aligned, inside the directory. */
static bool table_fits(const struct dlt_file_header *h, uint64_t offset, uint64_t count,
                       uint64_t size)
{
    uint64_t bytes = count * size; /* both below 2^32 */

    return offset % 8 == 0 && offset >= sizeof *h && offset <= h->directory_size &&
           bytes <= h->directory_size - offset;
}

/* h: as much of it as the file has. */
static int check_header(const struct dlt_profile *p, const struct dlt_file_header *h,
                        struct dlt_error *error)
{
    if (p->size < 16 || memcmp(h->magic, DLT_PROFILE_MAGIC, sizeof h->magic) != 0)
        return dlt_fail(error, "%s: is not a profile of dltime", p->path);
    if (h->version > DLT_PROFILE_VERSION)
        return dlt_fail(error,
                        "%s: written by a newer dltime (profile format %u, this one reads up to "
                        "%d); upgrade dltime, or %s",
                        p->path, h->version, DLT_PROFILE_VERSION, retrain);
    if (p->size < sizeof *h || h->file_size > p->size)
        return damaged(p->path, "is cut short", error);
    if (h->version < DLT_PROFILE_VERSION || h->header_size != sizeof *h ||
        h->entry_size != sizeof *p->entry || h->section_size != sizeof *p->section ||
        h->step_size != sizeof *p->step || h->source_size != sizeof *p->source ||
        h->model_size != sizeof(struct dlt_file_model) || h->feature_set != DLT_FEATURE_SET)
        return dlt_fail(error, "%s: written by another dltime (%.*s); %s", p->path,
                        (int)strnlen(h->producer, sizeof h->producer), h->producer, retrain);
    if (h->file_size != p->size || h->directory_size > p->size ||
        !table_fits(h, h->entry_offset, h->entry_count, h->entry_size) ||
        !table_fits(h, h->section_offset, h->section_count, h->section_size) ||
        !table_fits(h, h->step_offset, h->step_count, h->step_size) ||
        !table_fits(h, h->source_offset, h->source_count, h->source_size))
        return damaged(p->path, "its sizes contradict one another", error);
    return 0;
}

/* The directory's checksum, taken with its own field as zero. */
static uint64_t directory_checksum(const struct dlt_profile *p)
{
    struct dlt_file_header copy = *p->header;
    uint64_t sum;

    copy.directory_checksum = 0;
    sum = dlt_checksum(&copy, sizeof copy, 0);
    return dlt_checksum(p->data + sizeof copy, p->header->directory_size - sizeof copy, sum);
}

static bool text_ends(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

#define TEXT_ENDS(field) text_ends(field, sizeof(field))

static bool entry_is_sound(const struct dlt_profile *p, const struct dlt_file_entry *e)
{
    const struct dlt_device *d = &e->device;
    uint64_t end = (uint64_t)e->first_section + e->section_count;

    return TEXT_ENDS(d->name) && d->name[0] && TEXT_ENDS(d->vendor) && TEXT_ENDS(d->architecture) &&
           TEXT_ENDS(d->isa) && TEXT_ENDS(d->interconnect) && TEXT_ENDS(e->software.framework) &&
           TEXT_ENDS(e->software.backend) && TEXT_ENDS(e->software.cuda) &&
           (unsigned)e->software.timing < DLT_TIMINGS && e->threads >= 0 && isfinite(e->flops_s) &&
           isfinite(e->bytes_s) && isfinite(e->floor_s) && end <= p->header->section_count;
}

static bool section_is_sound(const struct dlt_profile *p, const struct dlt_file_section *s)
{
    return TEXT_ENDS(s->kind) && s->entry < p->header->entry_count && s->offset % 8 == 0 &&
           s->offset >= p->header->directory_size && s->offset <= p->size &&
           s->size <= p->size - s->offset && s->basis <= DLT_BASIS_MEASURED;
}

/* What no sound runs come near: factors, seconds, cases. */
static bool is_within(double value, double most)
{
    return value >= 0 && value <= most;
}

bool dlt_step_is_sound(const struct dlt_step_parameters *s)
{
    const double factor = 1e6, sigma = DLT_SIGMA_MOST, seconds = 1e6, cases = 1e12;

    return is_within(s->device_factor, factor) && s->device_factor > 0 &&
           is_within(s->backward_factor, factor) && s->backward_factor > 0 &&
           is_within(s->constant_s, seconds) && is_within(s->dispatch_s, seconds) &&
           is_within(s->allocate_s, seconds) && s->corner >= 1 && s->corner <= 100 &&
           is_within(s->bias_sigma, sigma) && is_within(s->network_sigma, sigma) &&
           is_within(s->run_sigma, sigma) && is_within(s->devices, cases) &&
           is_within(s->networks, cases) && is_within(s->runs, cases);
}

static int check_directory(const struct dlt_profile *p, struct dlt_error *error)
{
    const struct dlt_file_header *h = p->header;

    if (directory_checksum(p) != h->directory_checksum)
        return damaged(p->path, "was altered (the checksum of its index is wrong)", error);
    if (!TEXT_ENDS(h->producer) || h->entry_count == 0)
        return damaged(p->path, "holds no device", error);
    for (uint32_t i = 0; i < h->entry_count; i++)
        if (!entry_is_sound(p, &p->entry[i]))
            return damaged(p->path, "one of its devices is not sound", error);
    for (uint32_t i = 0; i < h->section_count; i++)
        if (!section_is_sound(p, &p->section[i]))
            return damaged(p->path, "one of its sections lies outside it", error);
    for (uint32_t i = 0; i < h->step_count; i++)
        if (p->step[i].entry >= h->entry_count || !dlt_step_is_sound(&p->step[i].parameters))
            return damaged(p->path, "one of its step parameters is not sound", error);
    for (uint32_t i = 0; i < h->source_count; i++)
        if (!TEXT_ENDS(p->source[i].path) || !TEXT_ENDS(p->source[i].text))
            return damaged(p->path, "one of its sources is not sound", error);
    return 0;
}

/* Takes the bytes; destroys the profile where they are refused. */
static int open_bytes(struct dlt_profile *p, struct dlt_profile **profile, struct dlt_error *error)
{
    const struct dlt_file_header *h = (const void *)p->data;

    if (check_header(p, h, error))
        goto refuse;
    p->header = h;
    p->entry = (const void *)(p->data + h->entry_offset);
    p->section = (const void *)(p->data + h->section_offset);
    p->step = (const void *)(p->data + h->step_offset);
    p->source = (const void *)(p->data + h->source_offset);
    if (check_directory(p, error))
        goto refuse;
    p->state = calloc(h->section_count + 1, sizeof *p->state);
    p->loaded = calloc(h->section_count + 1, sizeof *p->loaded);
    if (!p->state || !p->loaded) {
        dlt_fail_memory(error);
        goto refuse;
    }
    *profile = p;
    return 0;
refuse:
    dlt_profile_destroy(p);
    return -1;
}

/* Reads bytes of the file; false where it has fewer (cut short since it was opened). */
static bool read_at(int fd, uint64_t offset, void *to, size_t size)
{
    unsigned char *at = to;

    while (size > 0) {
        ssize_t got = pread(fd, at, size, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}

/* Reads the header, then all of the directory. The file is not mapped: one that is cut short by
 * somebody while it is in use must be an error, not a signal. */
static int read_directory(struct dlt_profile *p, struct dlt_error *error)
{
    const uint64_t most_directory = 64 << 20;
    struct dlt_file_header header = {0};
    size_t got = p->size < sizeof header ? p->size : sizeof header;
    unsigned char *data;

    if (!read_at(p->fd, 0, &header, got))
        return dlt_fail(error, "%s: cannot be read: %s", p->path, strerror(errno));
    if (check_header(p, &header, error))
        return -1;
    if (header.directory_size > most_directory)
        return damaged(p->path, "its sizes contradict one another", error);
    data = malloc(header.directory_size);
    if (!data)
        return dlt_fail_memory(error);
    p->data = data;
    if (!read_at(p->fd, 0, data, header.directory_size))
        return damaged(p->path, "is cut short", error);
    if (memcmp(data, &header, sizeof header) != 0)
        return damaged(p->path, "changes while it is read", error);
    return 0;
}

static struct dlt_profile *profile_new(const char *path, struct dlt_error *error)
{
    static _Atomic uint64_t serials;
    struct dlt_profile *p = calloc(1, sizeof *p);

    if (p) {
        p->serial = atomic_fetch_add_explicit(&serials, 1, memory_order_relaxed);
        p->fd = -1;
        p->path = strdup(path);
    }
    if (p && p->path)
        return p;
    dlt_profile_destroy(p);
    dlt_fail_memory(error);
    return NULL;
}

int dlt_profile_load(const char *path, struct dlt_profile **profile, struct dlt_error *error)
{
    struct dlt_profile *p;
    int64_t size;

    if (!*path)
        return dlt_fail(error, "the name of the profile is empty; give a file, or the name of an "
                               "installed one");
    p = profile_new(path, error);
    if (!p)
        return -1;
    p->fd = dlt_file_open(path, &size, error);
    p->size = p->fd < 0 ? 0 : (size_t)size;
    if (p->fd < 0 || read_directory(p, error)) {
        dlt_profile_destroy(p);
        return -1;
    }
    return open_bytes(p, profile, error);
}

int dlt_profile_from_memory(void *data, size_t size, const char *name, struct dlt_profile **profile,
                            struct dlt_error *error)
{
    struct dlt_profile *p = profile_new(name, error);

    if (!p) {
        free(data);
        return -1;
    }
    p->data = data;
    p->size = size;
    return open_bytes(p, profile, error);
}

void dlt_profile_destroy(struct dlt_profile *profile)
{
    if (!profile)
        return;
    for (uint32_t i = 0; profile->loaded && i < profile->header->section_count; i++)
        free(profile->loaded[i]);
    free((void *)profile->loaded);
    free((void *)profile->state);
    free((void *)(uintptr_t)profile->data);
    if (profile->fd >= 0)
        close(profile->fd);
    free(profile->path);
    free(profile);
}

size_t dlt_profile_touched(const struct dlt_profile *p)
{
    size_t bytes = p->fd < 0 ? p->size : p->header->directory_size;

    for (uint32_t i = 0; p->fd >= 0 && i < p->header->section_count; i++)
        bytes += p->loaded[i] ? p->section[i].size : 0;
    return bytes;
}

/* A section's bytes, read on the first call; NULL where that fails, and *state says why. Of several
 * threads that read them at once, one keeps its copy. */
static const unsigned char *section_bytes(const struct dlt_profile *p, size_t index,
                                          enum dlt_section_state *state)
{
    const struct dlt_file_section *s = &p->section[index];
    unsigned char *bytes, *other = NULL;

    if (p->fd < 0)
        return p->data + s->offset;
    bytes = atomic_load_explicit(&p->loaded[index], memory_order_acquire);
    if (bytes)
        return bytes;
    bytes = malloc(s->size + 1);
    *state = bytes ? DLT_SECTION_ALTERED : DLT_SECTION_SHORT;
    if (bytes && read_at(p->fd, s->offset, bytes, s->size)) {
        if (atomic_compare_exchange_strong(&p->loaded[index], &other, bytes))
            return bytes;
    }
    free(bytes);
    return other;
}

/* How many numbers stand before the first whose name has that text. */
static size_t count_before(const struct dlt_numbers *numbers, const char *text)
{
    size_t count = 0;

    while (count < numbers->count && !strstr(numbers->name[count], text))
        count++;
    return count;
}

/* A section may be older than the kind's last features, those of tiles; and one that asks other
 * entries, which has no columns of its own, than the last columns, of transforms where they pay. */
static bool has_older_signature(const struct dlt_file_model *model,
                                const struct dlt_record_kind *kind, size_t own_columns)
{
    static const struct dlt_device none;
    bool asks = model->ratio == DLT_RATIO_TRANSFER;
    struct dlt_record record = dlt_record_make(kind);
    size_t columns[] = {own_columns, 0}, features[] = {SIZE_MAX, 0};
    struct dlt_numbers numbers;

    dlt_columns(&record, &numbers);
    columns[1] = count_before(&numbers, "paying");
    dlt_features(&record, &none, 1, &numbers);
    features[1] = count_before(&numbers, "q rounds of tiles");
    for (int c = 0; c < (asks ? 2 : 1); c++)
        for (int f = 0; f < 2; f++)
            if (model->signature == dlt_feature_signature(kind, columns[c], features[f]))
                return true;
    return false;
}

/* Whether a section was learned with what a record's numbers mean here. */
static bool has_signature(const struct dlt_file_model *model, const struct dlt_record_kind *kind)
{
    size_t columns = model->ratio == DLT_RATIO_TRANSFER ? SIZE_MAX : model->columns;

    return model->signature == dlt_feature_signature(kind, columns, SIZE_MAX) ||
           has_older_signature(model, kind, columns);
}

bool dlt_section_is_start(const struct dlt_file_section *section)
{
    return strncmp(section->kind, DLT_START_PREFIX, sizeof DLT_START_PREFIX - 1) == 0;
}

static enum dlt_section_state verify(const struct dlt_profile *p, size_t index,
                                     struct dlt_section *section)
{
    const struct dlt_file_section *s = &p->section[index];
    size_t prefix = dlt_section_is_start(s) ? sizeof DLT_START_PREFIX - 1 : 0;
    const struct dlt_record_kind *kind = dlt_record_kind_find(s->kind + prefix);
    enum dlt_section_state missing = DLT_SECTION_ALTERED;
    const unsigned char *bytes = section_bytes(p, index, &missing);
    struct dlt_table table;

    if (!bytes)
        return missing;
    if (dlt_checksum(bytes, s->size, index) != s->checksum)
        return DLT_SECTION_ALTERED;
    if (dlt_table_is(s->kind)) {
        section->bytes = bytes;
        return dlt_table_parse(bytes, s->size, &table) ? DLT_SECTION_SOUND : DLT_SECTION_ALIEN;
    }
    if (!dlt_section_parse(bytes, s->size, section) || !dlt_section_trees_are_sound(section))
        return DLT_SECTION_ALIEN;
    section->bytes = bytes;
    if (!kind || !has_signature(&section->model, kind))
        return DLT_SECTION_ALIEN;
    return DLT_SECTION_SOUND;
}

/* Several threads may verify the same section at once; they come to the same result. Returns
 * whether it is sound, and *fresh whether it was verified, and parsed, by this very call. */
static bool is_sound(const struct dlt_profile *p, size_t index, struct dlt_section *section,
                     bool *fresh)
{
    unsigned char state = atomic_load_explicit(&p->state[index], memory_order_relaxed);

    *fresh = state == DLT_SECTION_UNSEEN;
    if (*fresh) {
        state = (unsigned char)verify(p, index, section);
        atomic_store_explicit(&p->state[index], state, memory_order_relaxed);
    }
    return state == DLT_SECTION_SOUND;
}

bool dlt_profile_section(const struct dlt_profile *p, size_t index, struct dlt_section *section)
{
    const struct dlt_file_section *s = &p->section[index];
    enum dlt_section_state missing;
    bool fresh;

    section->index = s;
    if (!is_sound(p, index, section, &fresh) || dlt_table_is(s->kind))
        return false;
    if (fresh)
        return true;
    section->bytes = section_bytes(p, index, &missing);
    return section->bytes && dlt_section_parse(section->bytes, s->size, section) > 0;
}

bool dlt_section_is_transfer(const struct dlt_profile *p, size_t index)
{
    uint32_t basis = p->section[index].basis;
    struct dlt_section section = {0};

    return basis == DLT_BASIS_GENERAL ||
           (basis == DLT_BASIS_ADAPTED && dlt_profile_section(p, index, &section) &&
            section.model.ratio == DLT_RATIO_TRANSFER);
}

const unsigned char *dlt_profile_bytes(const struct dlt_profile *p, size_t index)
{
    enum dlt_section_state missing;
    struct dlt_section section;
    bool fresh;

    return is_sound(p, index, &section, &fresh) ? section_bytes(p, index, &missing) : NULL;
}

int dlt_profile_check(const struct dlt_profile *p, struct dlt_error *error)
{
    for (uint32_t i = 0; i < p->header->section_count; i++) {
        unsigned char state = atomic_load_explicit(&p->state[i], memory_order_relaxed);

        if (state == DLT_SECTION_SHORT) {
            atomic_store_explicit(&p->state[i], DLT_SECTION_UNSEEN, memory_order_relaxed);
            return dlt_fail_memory(error);
        }
        if (state == DLT_SECTION_ALTERED)
            return dlt_fail(error,
                            "%s: the section of %s was altered (its checksum is wrong); copy the "
                            "profile again, or %s",
                            p->path, p->section[i].kind, retrain);
        if (state == DLT_SECTION_ALIEN)
            return dlt_fail(error, "%s: the section of %s was learned by another dltime (%s); %s",
                            p->path, p->section[i].kind, p->header->producer, retrain);
    }
    return 0;
}

size_t dlt_profile_entry_count(const struct dlt_profile *profile)
{
    return profile->header->entry_count;
}

const struct dlt_device *dlt_profile_device(const struct dlt_profile *profile, size_t entry)
{
    return &profile->entry[entry].device;
}

const struct dlt_software *dlt_profile_software(const struct dlt_profile *profile, size_t entry)
{
    return &profile->entry[entry].software;
}

int dlt_profile_threads(const struct dlt_profile *profile, size_t entry)
{
    return profile->entry[entry].threads;
}

const char *dlt_profile_path(const struct dlt_profile *profile)
{
    return profile->path;
}

void dlt_profile_step(const struct dlt_profile *p, size_t entry, enum dlt_framework framework,
                      struct dlt_step_parameters *parameters)
{
    for (uint32_t i = 0; i < p->header->step_count; i++) {
        if (p->step[i].entry == entry && p->step[i].framework == (uint32_t)framework) {
            *parameters = p->step[i].parameters;
            return;
        }
    }
    *parameters = dlt_step_defaults(framework, p->entry[entry].threads > 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up records between the measured ones: what a small network is shown of a large one. */
#include <math.h>
#include <string.h>

#include "learn/model_build.h"

static bool pads_same(const struct dlt_record *record)
{
    struct dlt_record copy = *record;

    dlt_spatial_pad_same(&copy.u.spatial, record->kind->dims);
    return memcmp(copy.u.spatial.padding, record->u.spatial.padding,
                  sizeof copy.u.spatial.padding) == 0;
}

static bool pads_none(const struct dlt_record *record)
{
    static const struct dlt_spatial none;

    return memcmp(record->u.spatial.padding, none.padding, sizeof none.padding) == 0;
}

static int64_t moved(struct dlt_random *random, double spread, int64_t value)
{
    double factor = exp(spread * dlt_random_normal(random));

    return value <= 1 ? value : (int64_t)fmax(1, nearbyint((double)value * factor));
}

/* Square images stay square: the same factor for every dimension. */
static void move_list(struct dlt_random *random, double spread, int64_t *value, int count)
{
    int64_t first = value[0], now = moved(random, spread, first);

    for (int i = 0; i < count; i++)
        value[i] = value[i] == first ? now : moved(random, spread, value[i]);
}

bool dlt_synthesise(const struct dlt_rows *rows, struct dlt_random *random, double spread,
                    struct dlt_record *record)
{
    const struct dlt_record *other = &rows->row[dlt_random_below(random, rows->count)]->record;
    bool same, none;

    *record = rows->row[dlt_random_below(random, rows->count)]->record;
    same = record->kind->dims > 0 && pads_same(record);
    none = record->kind->dims > 0 && pads_none(record);
    for (const struct dlt_field *f = record->kind->fields; f->name; f++) {
        int64_t *value = dlt_record_field(record, f);
        double chance = dlt_random_uniform(random);

        if (f->type == DLT_FIELD_INT && chance < 0.4)
            *value = moved(random, spread, *value);
        else if (f->type == DLT_FIELD_INT && chance < 0.5)
            *value = *dlt_record_field((struct dlt_record *)(uintptr_t)other, f);
        else if (strcmp(f->name, "in_size") == 0 && chance < 0.4)
            move_list(random, spread, value, record->kind->dims);
        else if (f->type == DLT_FIELD_BOOL && chance < 0.1)
            *value = !*value;
    }
    if (record->kind->dims > 0 && record->u.spatial.groups > 1) {
        struct dlt_spatial *s = &record->u.spatial;

        s->in_channels = (s->in_channels + s->groups - 1) / s->groups * s->groups;
        s->out_channels = (s->out_channels + s->groups - 1) / s->groups * s->groups;
    }
    if (same && !none)
        dlt_spatial_pad_same(&record->u.spatial, record->kind->dims);
    return dlt_record_check(record, NULL) == 0;
}

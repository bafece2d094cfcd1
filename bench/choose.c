/* SPDX-License-Identifier: Apache-2.0 */
#include "choose.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/grow.h"
#include "predict/features.h"
#include "predict/profile.h"

/* Of the time in a record's worth: 1 would lower errors in seconds alone, 0 relative ones. */
static const double time_power = 0.5;
/* Distance, in coordinates that are logarithms, within which a measurement answers for another. */
static const double reach = 1;

struct place {
    const struct dlt_record_kind *kind;
    size_t count;
    float at[DLT_COORDINATES_MAX];
};

struct bench_chooser {
    struct dlt_profile *profile;
    size_t entry;
    struct place *place;
    size_t count, room;
};

static void locate(const struct dlt_record *record, struct place *place)
{
    struct dlt_numbers coordinates;

    dlt_coordinates(record, &coordinates);
    place->kind = record->kind;
    place->count = coordinates.count;
    if (place->count > DLT_COORDINATES_MAX)
        place->count = DLT_COORDINATES_MAX;
    for (size_t i = 0; i < place->count; i++)
        place->at[i] = (float)coordinates.value[i];
}

int bench_chooser_create(const char *profile, const struct dlt_device *device, int threads,
                         struct bench_chooser **chooser, struct dlt_error *error)
{
    struct bench_chooser *made = calloc(1, sizeof *made);

    if (!made)
        return dlt_fail_memory(error);
    if (dlt_profile_load(profile, &made->profile, error)) {
        bench_chooser_destroy(made);
        return -1;
    }
    if (dlt_profile_find(made->profile, device->name, threads, &made->entry, error)) {
        bench_chooser_destroy(made);
        return -1;
    }
    *chooser = made;
    return 0;
}

void bench_chooser_destroy(struct bench_chooser *chooser)
{
    if (!chooser)
        return;
    dlt_profile_destroy(chooser->profile);
    free(chooser->place);
    free(chooser);
}

int bench_chooser_add(struct bench_chooser *chooser, const struct dlt_record *record,
                      struct dlt_error *error)
{
    if (dlt_grow(&chooser->place, sizeof *chooser->place, chooser->count, 1, &chooser->room))
        return dlt_fail_memory(error);
    locate(record, &chooser->place[chooser->count++]);
    return 0;
}

/* Squared distance to the nearest record that was added; INFINITY where there is none. */
static double nearest(const struct bench_chooser *chooser, const struct place *place)
{
    float least = INFINITY;

    for (size_t i = 0; i < chooser->count; i++) {
        const struct place *other = &chooser->place[i];
        float sum = 0;

        if (other->kind != place->kind)
            continue;
        for (size_t a = 0; a < place->count && sum < least; a++) {
            float apart = place->at[a] - other->at[a];

            sum += apart * apart;
        }
        least = sum < least ? sum : least;
    }
    return (double)least;
}

double bench_chooser_worth(const struct bench_chooser *chooser, const struct dlt_record *record)
{
    struct dlt_price price;
    struct place place;

    dlt_profile_price(chooser->profile, chooser->entry, record, &price);
    if (!(price.seconds > 0) || !isfinite(price.sigma))
        return 0;
    locate(record, &place);
    return price.sigma * pow(price.seconds, time_power) *
           -expm1(-nearest(chooser, &place) / (reach * reach));
}

double bench_chooser_sample_worth(const struct bench_chooser *chooser,
                                  const struct bench_sample *sample)
{
    struct dlt_record record = sample->record;
    double worth = 0;

    for (int i = 0; i < sample->pass_count; i++) {
        record.pass = sample->pass[i];
        worth += bench_chooser_worth(chooser, &record);
    }
    return worth;
}

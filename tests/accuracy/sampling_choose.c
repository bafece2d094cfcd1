/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling_choose POOL CHOSEN COUNT SEED random|informed|PROFILE
 * Which rows of a measurements file to measure next, as if its times were not known: prints COUNT
 * line numbers of POOL that the file CHOSEN does not name yet. random: any. informed: every second
 * one is the row nearest to a layer of a shipped network, as the sampler of dlbench draws. PROFILE:
 * of 64 rows the one that dlbench run --profile would take.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choose.h"
#include "measure/measurements.h"
#include "predict/features.h"
#include "random.h"
#include "sampler_networks.h"

enum { CANDIDATES = 64, MOST_ROWS = 1 << 20 };

struct pool {
    struct dlt_record *record;
    bool *taken;
    int64_t *line; /* in the file, from 1 */
    int64_t count, left;
    struct dlt_device device;
};

static void die(const struct dlt_error *error)
{
    fprintf(stderr, "sampling_choose: %s\n", error->text);
    exit(1);
}

static void read_pool(const char *path, struct pool *pool)
{
    struct dlt_measure_reader *reader;
    struct dlt_measurement row;
    struct dlt_error error;
    struct dlt_run run;

    pool->record = calloc(MOST_ROWS, sizeof *pool->record);
    pool->taken = calloc(MOST_ROWS, sizeof *pool->taken);
    pool->line = calloc(MOST_ROWS, sizeof *pool->line);
    if (!pool->record || !pool->taken || !pool->line || dlt_measure_open(path, &reader, &error))
        die(&error);
    pool->device = dlt_measure_header(reader)->device;
    /* Rows of these files are all known and follow the header line by line. */
    while (pool->count < MOST_ROWS && dlt_measure_next(reader, &row, &run, &error) > 0) {
        pool->line[pool->count] = pool->count + 2;
        pool->record[pool->count++] = row.record;
    }
    pool->left = pool->count;
    dlt_measure_close(reader);
}

static void take(struct pool *pool, int64_t index)
{
    pool->taken[index] = true;
    pool->left--;
}

static void read_chosen(const char *path, struct pool *pool)
{
    FILE *file = fopen(path, "re");
    long line;

    while (file && fscanf(file, "%ld", &line) == 1)
        if (line >= 2 && line - 2 < pool->count && !pool->taken[line - 2])
            take(pool, line - 2);
    if (file)
        fclose(file);
}

static int64_t any(const struct pool *pool, uint64_t *random)
{
    int64_t index;

    do
        index = bench_random_below(random, pool->count);
    while (pool->taken[index]);
    return index;
}

/* Where a record is among rows whose pass and optimizer are given by the file, not chosen. */
static void locate(const struct dlt_record *record, double *at, size_t *count)
{
    struct dlt_record forward = *record;
    struct dlt_numbers numbers;

    forward.pass = DLT_FORWARD;
    forward.optimizer = DLT_OPTIMIZER_NONE;
    dlt_coordinates(&forward, &numbers);
    *count = numbers.count;
    memcpy(at, numbers.value, numbers.count * sizeof *at);
}

static int64_t nearest(const struct pool *pool, const struct dlt_record *wanted)
{
    double at[DLT_FEATURES_MAX], other[DLT_FEATURES_MAX], least = INFINITY;
    size_t count, others;
    int64_t best = -1;

    locate(wanted, at, &count);
    for (int64_t i = 0; i < pool->count; i++) {
        double sum = 0;

        if (pool->taken[i])
            continue;
        locate(&pool->record[i], other, &others);
        for (size_t a = 0; a < count && a < others; a++)
            sum += (at[a] - other[a]) * (at[a] - other[a]);
        if (sum < least) {
            least = sum;
            best = i;
        }
    }
    return best;
}

static int64_t informed(const struct pool *pool, const struct bench_networks *networks,
                        uint64_t *random)
{
    struct dlt_record wanted;

    if (bench_networks_draw(networks, pool->record[0].kind, random, &wanted))
        return nearest(pool, &wanted);
    return any(pool, random);
}

static int64_t adaptive(const struct pool *pool, const struct bench_chooser *chooser,
                        uint64_t *random)
{
    double most = -1;
    int64_t best = -1;

    for (int c = 0; c < CANDIDATES; c++) {
        int64_t index = any(pool, random);
        double worth = bench_chooser_worth(chooser, &pool->record[index]);

        if (worth > most) {
            most = worth;
            best = index;
        }
    }
    return best;
}

int main(int argc, char **argv)
{
    struct pool pool = {0};
    struct bench_networks *networks = NULL;
    struct bench_chooser *chooser = NULL;
    struct dlt_error error;
    uint64_t random;

    if (argc != 6) {
        fputs("usage: sampling_choose POOL CHOSEN COUNT SEED random|informed|PROFILE\n", stderr);
        return 2;
    }
    random = strtoull(argv[4], NULL, 10) * 0x9e3779b97f4a7c15ULL + 1;
    read_pool(argv[1], &pool);
    read_chosen(argv[2], &pool);
    if (strcmp(argv[5], "informed") == 0 && bench_networks_load(NULL, 0, &networks, &error))
        die(&error);
    if (!networks && strcmp(argv[5], "random") != 0 &&
        bench_chooser_create(argv[5], &pool.device, 0, &chooser, &error))
        die(&error);
    for (long i = 0; i < strtol(argv[3], NULL, 10) && pool.left > 0; i++) {
        int64_t index = networks && i % 2 == 0 ? informed(&pool, networks, &random)
                        : chooser              ? adaptive(&pool, chooser, &random)
                                               : any(&pool, &random);

        if (chooser && bench_chooser_add(chooser, &pool.record[index], &error))
            die(&error);
        take(&pool, index);
        printf("%ld\n", (long)pool.line[index]);
    }
    bench_chooser_destroy(chooser);
    bench_networks_destroy(networks);
    free(pool.record);
    free(pool.taken);
    free(pool.line);
    return 0;
}

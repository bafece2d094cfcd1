/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often jobs take longer than the quantile that is promised not to be exceeded, in drawn worlds
 * of known errors (tests/unit/worlds.h): as the spread assumes them, and otherwise.
 *
 *     spread [DRAWINGS [SEED [WORLD]]]      Markdown; 20 jobs a drawing, 200 drawings a world
 */
#include <stdio.h>

#include "../unit/worlds.h"
#include "base/median.h"

enum { RESAMPLES = 1000 };
static const double quantile = 0.99;

/* clang-format off */
static const struct world worlds[] = {
    /* name                           networks devices far   device net   run   units freedom family slow */
    {"as assumed, 10 networks",           10, 1, false, 0.10, 0.09, 0.03, 0.05, 0, 0, 0},
    {"as assumed, 20 networks",           20, 1, false, 0.10, 0.09, 0.03, 0.05, 0, 0, 0},
    {"5 networks",                         5, 1, false, 0.10, 0.09, 0.03, 0.05, 0, 0, 0},
    {"2 networks",                         2, 1, false, 0.10, 0.09, 0.03, 0.05, 0, 0, 0},
    {"1 network",                          1, 1, false, 0.10, 0.09, 0.03, 0.05, 0, 0, 0},
    {"networks differ little",            10, 1, false, 0.10, 0.03, 0.01, 0.02, 0, 0, 0},
    {"networks differ twice as much",     10, 1, false, 0.10, 0.18, 0.03, 0.05, 0, 0, 0},
    {"a device twice as fast",            10, 1, false, 0.70, 0.09, 0.03, 0.05, 0, 0, 0},
    {"heavy tails (t, 3)",                10, 1, false, 0.10, 0.09, 0.03, 0.05, 3, 0, 0},
    {"heavy tails, 5 networks",            5, 1, false, 0.10, 0.09, 0.03, 0.05, 3, 0, 0},
    {"families of 4 alike networks",      12, 1, false, 0.10, 0.09, 0.03, 0.05, 0, 4, 0},
    {"one family of 8",                    8, 1, false, 0.10, 0.09, 0.03, 0.05, 0, 8, 0},
    {"noisy runs",                        10, 1, false, 0.10, 0.09, 0.10, 0.05, 0, 0, 0},
    {"one job of twenty a fifth slower",  10, 1, false, 0.10, 0.09, 0.03, 0.05, 0, 0, 0.05},
    {"an unseen device after 5",           6, 5, true,  0.15, 0.09, 0.03, 0.08, 0, 0, 0},
    {"an unseen device after 3, differing",6, 3, true,  0.30, 0.09, 0.03, 0.08, 0, 0, 0},
};
/* clang-format on */
enum { WORLDS = sizeof worlds / sizeof *worlds };

/* Central 95 % of the share that exceeded. Whole drawings are resampled: jobs of one share errors.
 */
static void bootstrap(const int *exceeded, int drawings, double *low, double *high)
{
    static double share[RESAMPLES];
    struct dlt_random random;

    dlt_random_seed(&random, 1, 99);
    for (int r = 0; r < RESAMPLES; r++) {
        double sum = 0;

        for (int d = 0; d < drawings; d++)
            sum += exceeded[dlt_random_below(&random, (size_t)drawings)];
        share[r] = sum / drawings / WORLD_JOBS;
    }
    dlt_sort_values(share, RESAMPLES);
    *low = share[RESAMPLES / 40];
    *high = share[RESAMPLES - 1 - RESAMPLES / 40];
}

int main(int argc, char **argv)
{
    int drawings = argc > 1 ? atoi(argv[1]) : 200;
    uint64_t seed = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    int only = argc > 3 ? atoi(argv[3]) : -1;
    int *exceeded = calloc((size_t)drawings + 1, sizeof *exceeded);
    double *ratio = calloc((size_t)drawings * WORLD_JOBS + 1, sizeof *ratio);

    if (!exceeded || !ratio || drawings < 1) {
        free(exceeded);
        free(ratio);
        return 2;
    }
    printf("| world | jobs | within the 99 %% limit | 95 %% interval | limit / real, median |\n"
           "|---|--:|--:|--:|--:|\n");
    for (int w = 0; w < WORLDS; w++) {
        double sum = 0, low, high;

        if (only >= 0 && w != only)
            continue;
        for (int d = 0; d < drawings; d++) {
            struct world_result result;

            world_draw(&worlds[w], seed, (uint64_t)w * 100000 + (uint64_t)d, quantile, &result);
            exceeded[d] = result.exceeded;
            sum += result.exceeded;
            for (int j = 0; j < WORLD_JOBS; j++)
                ratio[d * WORLD_JOBS + j] = result.limit_ratio[j];
        }
        bootstrap(exceeded, drawings, &low, &high);
        dlt_sort_values(ratio, (size_t)drawings * WORLD_JOBS);
        printf("| %s | %d | %.2f %% | %.2f - %.2f %% | %.2f |\n", worlds[w].name,
               drawings * WORLD_JOBS, 100 - 100 * sum / drawings / WORLD_JOBS, 100 - 100 * high,
               100 - 100 * low, ratio[drawings * WORLD_JOBS / 2]);
        fflush(stdout);
    }
    free(exceeded);
    free(ratio);
    return 0;
}

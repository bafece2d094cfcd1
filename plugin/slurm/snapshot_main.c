/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dltime-snapshot - prints the cluster as the caller sees it, for `dltime advise` and site scripts.
 * One for each Slurm release, so that dltime itself depends on none. Where there is no snapshot to
 * print it prints one sentence that says why, and exits with 1.
 */
#include <errno.h>
#include <slurm/slurm.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fill.h"

static bool initialised;

/* slurm_init ends the process where it finds no configuration. */
static void say_why(void)
{
    if (!initialised)
        fputs("found no Slurm configuration; set SLURM_CONF to the path of slurm.conf", stdout);
}

/* The exit status: 1 with a sentence where the output could not be written. */
static int finish(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    fprintf(stderr, "dltime-snapshot: standard output: %s\n", strerror(errno));
    return 1;
}

int main(int argc, char **argv)
{
    struct dlt_snapshot *snapshot;
    struct dlt_error error;
    bool nodes = true;
    int result;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--partitions") == 0) {
            nodes = false;
        } else if (strcmp(argv[i], "--version") == 0) {
            printf("dltime-snapshot %s (Slurm %d.%02d)\n", DLT_VERSION,
                   SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
                   SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER));
            return finish();
        } else {
            fputs("Usage: dltime-snapshot [--partitions] | --version\n", stderr);
            return 2;
        }
    }
    if (atexit(say_why))
        return 1;
    slurm_init(NULL);
    initialised = true;
    if (fill_snapshot(nodes, &snapshot, &error)) {
        fputs(error.text, stdout);
        return 1;
    }
    result = dlt_snapshot_write(stdout, snapshot);
    dlt_snapshot_destroy(snapshot);
    return finish() || result ? 1 : 0;
}

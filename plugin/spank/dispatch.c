/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch.c - the entry points of spank_dltime.so: one switch for each hook, by context. Where
 * root runs it (slurmd, slurmstepd, prologs) it knows its options' names and nothing more.
 */
#include <slurm/spank.h>
#include <stdbool.h>

#include "options.h"
#include "submit.h"

SPANK_PLUGIN(dltime, 1)

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
    switch (spank_context()) {
    case S_CTX_LOCAL:
        submit_init(spank, argc, argv, false);
        break;
    case S_CTX_ALLOCATOR:
        submit_init(spank, argc, argv, true);
        break;
    case S_CTX_REMOTE:
        options_register(spank, false);
        break;
    default:
        break;
    }
    return 0;
}

int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    switch (spank_context()) {
    case S_CTX_LOCAL:
    case S_CTX_ALLOCATOR:
        submit_advise(spank);
        break;
    default:
        break;
    }
    return 0;
}

int slurm_spank_exit(spank_t spank, int argc, char **argv)
{
    (void)spank;
    (void)argc;
    (void)argv;
    switch (spank_context()) {
    case S_CTX_LOCAL:
    case S_CTX_ALLOCATOR:
        submit_exit();
        break;
    default:
        break;
    }
    return 0;
}

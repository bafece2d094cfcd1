/* SPDX-License-Identifier: Apache-2.0 */
#include "submit.h"

#include <dlfcn.h>
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../advise/tell.h"
#include "../advise/words.h"
#include "dltime.h"
#include "load.h"
#include "options.h"

static const char *conf_path, *advise_path;
static bool advised; /* an earlier component of this job was */
static bool active;  /* a job is being submitted by a Slurm that this was built for */

/* What advise.so tells a job; an outer job's must not reach an inner one. */
static const char *const told[] = {DLT_TOLD_NUMBERS, DLT_TOLD_TEXTS};

/* The major number that slurm_api_version() had in each release: soname of libslurm. */
static const struct {
    unsigned release; /* as in SLURM_VERSION_NUMBER, without the micro part */
    long api;
} releases[] = {
    {0x140b, 36}, {0x1508, 37}, {0x1605, 38}, {0x1702, 39}, {0x170b, 40},
    {0x1805, 41}, {0x180b, 42}, {0x1905, 43}, {0x190b, 44}, {0x1a05, 45},
};

/* Whether the program is of the release that this object was built with. A release that is not in
 * the table is left to Slurm's own check. */
static bool same_release(void)
{
    for (size_t i = 0; i < sizeof releases / sizeof *releases; i++) {
        if (releases[i].release == SLURM_VERSION_NUMBER >> 8)
            return SLURM_VERSION_MAJOR(slurm_api_version()) == releases[i].api;
    }
    return true;
}

static void take_arguments(int argc, char **argv)
{
    static const struct {
        const char *prefix;
        const char **value;
    } known[] = {{"conf=", &conf_path}, {"advise=", &advise_path}};

    for (int i = 0; i < argc; i++) {
        for (size_t j = 0; j < sizeof known / sizeof *known; j++) {
            size_t length = strlen(known[j].prefix);

            if (strncmp(argv[i], known[j].prefix, length) == 0)
                *known[j].value = argv[i] + length;
        }
    }
}

/* Under each of the names that it was told by: to a job, again for --export=NONE, and by Slurm,
 * which shows a job what the controller was told. */
static void forget_outer_job(void)
{
    static const char *const before[] = {"", "SLURM_", "SLURM_SPANK_"};

    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        for (size_t j = 0; j < sizeof before / sizeof *before; j++) {
            char name[64];

            snprintf(name, sizeof name, "%s%s", before[j], told[i]);
            unsetenv(name);
        }
    }
}

/* srun with a job around it starts a step there: nothing is submitted. */
static bool inside_job(void)
{
    return getenv("SLURM_JOB_ID") || getenv("SLURM_JOBID");
}

void submit_init(spank_t spank, int argc, char **argv, bool allocator)
{
    take_arguments(argc, argv);
    options_scrub_environment();
    active = allocator || !inside_job();
    if (active && !same_release()) {
        dlt_tell_warning("the plugin was built for another release of Slurm and does nothing");
        active = false;
    }
    if (active)
        forget_outer_job();
    options_register(spank, active);
}

int submit_check_model(const char *spec)
{
    struct dlt_advise_call call = {
        .size = sizeof call,
        .slurm_version = SLURM_VERSION_NUMBER,
        .action = DLT_ADVISE_CHECK,
        .spec = spec,
    };
    char message[256], line[sizeof call.message + 32];
    dlt_advise_function *advise = load_advise(advise_path, message, sizeof message);

    /* Without an advise.so of this build nobody can judge: submit_advise will say so, once. */
    if (!advise || advise(&call) >= 0)
        return 0;
    snprintf(line, sizeof line, "dltime: --dl-model: %s\n", call.message);
    dlt_tell(line);
    return -1;
}

static void tell_controller(void *context, const char *name, const char *value)
{
    spank_t spank = context;

    if (value)
        spank_job_control_setenv(spank, name, value, 1);
    else
        spank_job_control_unsetenv(spank, name);
}

static void ask(spank_t spank, enum dlt_advise_action action, const char *spec,
                bool from_environment)
{
    struct dlt_advise_call call = {
        .size = sizeof call,
        .slurm_version = SLURM_VERSION_NUMBER,
        .action = action,
        .spec = spec,
        .from_environment = from_environment,
        .srun = spank_context() == S_CTX_LOCAL,
        .dl_time = option_value(OPTION_TIME),
        .dl_partition = option_value(OPTION_PARTITION),
        .conf = conf_path,
        .opt = dlsym(RTLD_DEFAULT, "opt"),
        .tell = tell_controller,
        .context = spank,
    };
    char message[sizeof call.message];
    dlt_advise_function *advise;
    int result;

    /* A program without options of this kind (scrun) has nothing to advise on. */
    if (!call.opt)
        return;
    advise = load_advise(advise_path, message, sizeof message);
    if (!advise) {
        dlt_tell_warning(message);
        return;
    }
    result = advise(&call);
    if (result == DLT_ADVISE_ALIEN)
        dlt_tell_warning("spank_dltime.so and advise.so are of different builds; install both");
    else if (result)
        dlt_tell_warning(call.message);
}

void submit_advise(spank_t spank)
{
    const char *given = option_value(OPTION_MODEL);
    const char *spec = given ? given : getenv("DL_MODEL");

    if (active)
        slurm_verbose("dltime %s, built for Slurm %d.%02d", DLT_VERSION,
                      SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
                      SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER));
    if (active && spec && *spec) {
        ask(spank, DLT_ADVISE_SUBMIT, spec, !given);
        advised = true;
    } else if (advised) {
        ask(spank, DLT_ADVISE_UNDO, NULL, false);
    }
    options_scrub_job_control(spank);
    options_forget();
}

void submit_exit(void)
{
    options_forget();
}

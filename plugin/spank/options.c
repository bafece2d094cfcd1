/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../advise/tell.h"
#include "../advise/words.h"
#include "dltime.h"
#include "options.h"
#include "submit.h"

/* words: what may be given; NULL: a SPEC, which advise.so looks at. */
static const struct {
    const char *name, *argument, *usage;
    const char *words[8];
} table[OPTIONS] = {
    [OPTION_MODEL] = {"dl-model",
                      "SPEC[,key=value]...",
                      "network that the job trains; dltime predicts its run time from it",
                      {NULL}},
    [OPTION_TIME] = {"dl-time",
                     "set|suggest|off",
                     "what to do about the time limit where --time is not given",
                     {DLT_TIME_WORDS}},
    [OPTION_PARTITION] = {"dl-partition",
                          "suggest|auto[:run|:cost|:finish]|off",
                          "what to do where another partition is better",
                          {DLT_PARTITION_WORDS}},
};

static char *values[OPTIONS];
static bool checking;

const char *option_value(enum option option)
{
    return values[option];
}

void options_forget(void)
{
    for (int i = 0; i < OPTIONS; i++) {
        free(values[i]);
        values[i] = NULL;
    }
}

static int refuse(int option, const char *value)
{
    char line[256], shown[64];
    size_t used = 0;

    /* The value may hold anything: what a terminal would act on is not shown. */
    for (; value[used] && used + 1 < sizeof shown; used++)
        shown[used] = (char)(value[used] >= ' ' && value[used] <= '~' ? value[used] : '?');
    shown[used] = '\0';
    snprintf(line, sizeof line, "dltime: --%s takes %s, not \"%s\"\n", table[option].name,
             table[option].argument, shown);
    dlt_tell(line);
    return -1;
}

static bool allowed(int option, const char *value)
{
    if (!table[option].words[0])
        return *value != '\0';
    for (int i = 0; table[option].words[i]; i++) {
        if (strcmp(table[option].words[i], value) == 0)
            return true;
    }
    return false;
}

static int take(int option, const char *value, int remote)
{
    char *copy;

    if (remote || !checking || option < 0 || option >= OPTIONS)
        return 0;
    if (!value || !allowed(option, value))
        return refuse(option, value ? value : "");
    if (option == OPTION_MODEL && submit_check_model(value))
        return -1;
    copy = strdup(value);
    if (!copy)
        return 0;
    free(values[option]);
    values[option] = copy;
    return 0;
}

void options_register(spank_t spank, bool check)
{
    static char built_for[128];

    checking = check;
    snprintf(built_for, sizeof built_for, "%s (dltime %s for Slurm %d.%02d)",
             table[OPTION_MODEL].usage, DLT_VERSION, SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
             SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER));
    for (int i = 0; i < OPTIONS; i++) {
        struct spank_option option = {
            .name = (char *)table[i].name,
            .arginfo = (char *)table[i].argument,
            .usage = i == OPTION_MODEL ? built_for : (char *)table[i].usage,
            .has_arg = 1,
            .val = i,
            .cb = take,
        };

        spank_option_register(spank, &option);
    }
}

/* "_SLURM_SPANK_OPTION_dltime_dl_model": how Slurm calls an option's value in an environment. */
static void variable_of(int option, char *name, size_t size)
{
    snprintf(name, size, "_SLURM_SPANK_OPTION_dltime_%s", table[option].name);
    for (char *at = name; *at; at++) {
        if (*at == '-')
            *at = '_';
    }
}

void options_scrub_environment(void)
{
    for (int i = 0; i < OPTIONS; i++) {
        char name[96], inherited[128];

        variable_of(i, name, sizeof name);
        unsetenv(name);
        snprintf(inherited, sizeof inherited, "SLURM_SPANK_%s", name);
        unsetenv(inherited);
    }
}

void options_scrub_job_control(spank_t spank)
{
    for (int i = 0; i < OPTIONS; i++) {
        char name[96];

        variable_of(i, name, sizeof name);
        spank_job_control_unsetenv(spank, name);
    }
}

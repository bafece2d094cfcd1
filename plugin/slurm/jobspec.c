/* SPDX-License-Identifier: Apache-2.0 */
#include "jobspec.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../advise/options.h"
#include "base/text.h"
#include "options_api.h"

/* Slurm's "not said" of each width, which in 32 bits lies above INT_MAX. */
static int count32(uint32_t value)
{
    return value > INT_MAX ? 0 : (int)value;
}

static int count16(uint16_t value)
{
    return value >= NO_VAL16 ? 0 : value;
}

static void read_gpus(const char *tres, struct dlt_gpu_request *gpus)
{
    if (!tres || !dlt_request_gpus(tres, false, gpus))
        *gpus = (struct dlt_gpu_request){0};
}

struct shown_option {
    const char *name, *shown;
};

/* See dlt_request. The last row of each has no name. */
static const struct shown_option hands_off[] = {{"deadline", "--deadline"},
                                                {"time-min", "--time-min"},
                                                {"reservation", "--reservation"},
                                                {"external", "--external"},
                                                {NULL, NULL}};
static const struct shown_option bound[] = {
    {"nodelist", "--nodelist"}, {"nodefile", "--nodefile"}, {NULL, NULL}};
static const struct shown_option elsewhere[] = {{"clusters", "--clusters"}, {NULL, NULL}};

static const char *first_given(void *opt, const struct shown_option *options)
{
    for (; options->name; options++) {
        if (slurm_option_isset(opt, options->name))
            return options->shown;
    }
    return NULL;
}

/* What is too long for us names nothing that we know. */
static void copy(char *to, size_t size, const char *from)
{
    dlt_text_copy(to, size, from ? from : "");
}

static double minutes(uint32_t value)
{
    return value >= NO_VAL ? INFINITY : 60.0 * value;
}

/* The public description that sbatch and salloc make of their options as well. */
static void read_description(void *opt, const job_desc_msg_t *job, struct dlt_request *request)
{
    if (job->partition)
        dlt_text_copy(request->partitions, sizeof request->partitions, job->partition);
    if (slurm_option_isset(opt, "time"))
        request->time_s = minutes(job->time_limit);
    /* The number of nodes has a default that nobody asked for. */
    if (slurm_option_isset(opt, "nodes")) {
        request->nodes = count32(job->min_nodes);
        request->most_nodes = count32(job->max_nodes);
    }
    request->tasks = count32(job->num_tasks);
    request->tasks_per_node = count16(job->ntasks_per_node);
    request->cpus_per_task = count16(job->cpus_per_task);
    request->cpus = count32(job->min_cpus);
    request->sockets_per_node = count16(job->sockets_per_node);
    request->exclusive = job->shared == 0;
    read_gpus(job->tres_per_job, &request->per_job);
    read_gpus(job->tres_per_node, &request->per_node);
    read_gpus(job->tres_per_socket, &request->per_socket);
    read_gpus(job->tres_per_task, &request->per_task);
    copy(request->account, sizeof request->account, job->account);
    copy(request->qos, sizeof request->qos, job->qos);
    copy(request->features, sizeof request->features, job->features);
}

/* dlt_option_get */
static bool get_option(void *opt, const char *name, char *text, size_t size)
{
    char *value;

    if (!slurm_option_isset(opt, name))
        return false;
    value = slurm_option_get(opt, name);
    copy(text, size, value);
    slurm_xfree((void **)&value);
    return true;
}

bool jobspec_read(void *opt, struct dlt_request *request)
{
    bool unfit;
    const job_desc_msg_t *job = options_job_desc(opt, &unfit);

    if (unfit)
        return false;
    dlt_request_init(request);
    /* Not freed: some of its texts are the options' own (submit_line in 22.05), which ones differs
     * by release, and the program is about to use them. */
    if (job)
        read_description(opt, job, request);
    else
        dlt_request_options(request, get_option, opt);
    request->hands_off = first_given(opt, hands_off);
    request->bound = first_given(opt, bound);
    request->elsewhere = first_given(opt, elsewhere);
    return true;
}

bool jobspec_start(void *opt, const char *partition, double limit_s, double *start_s)
{
    will_run_response_msg_t *answer = NULL;
    bool unfit;
    job_desc_msg_t *job = options_job_desc(opt, &unfit);

    if (!job)
        return false;
    job->partition = (char *)partition;
    job->time_limit = (uint32_t)ceil(limit_s / 60);
    job->user_id = geteuid();
    job->group_id = getegid();
    if (slurm_job_will_run2(job, &answer) || !answer)
        return false;
    *start_s = fmax(difftime(answer->start_time, time(NULL)), 0);
    return true;
}

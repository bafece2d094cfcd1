/* SPDX-License-Identifier: Apache-2.0 */
#include "jobspec.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>

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

/* The first option given beside which the time limit is not ours to choose. */
static const char *hands_off(void *opt)
{
    static const struct {
        const char *name, *shown;
    } options[] = {
        {"deadline", "--deadline"}, {"time-min", "--time-min"}, {"reservation", "--reservation"},
        {"clusters", "--clusters"}, {"external", "--external"},
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (slurm_option_isset(opt, options[i].name))
            return options[i].shown;
    }
    return NULL;
}

static double minutes(uint32_t value)
{
    return value >= NO_VAL ? INFINITY : 60.0 * value;
}

bool jobspec_read(void *opt, struct dlt_request *request)
{
    job_desc_msg_t *job = slurm_opt_create_job_desc(opt, true);

    if (!job)
        return false;
    dlt_request_init(request);
    if (job->partition)
        dlt_text_copy(request->partitions, sizeof request->partitions, job->partition);
    if (slurm_option_isset(opt, "time"))
        request->time_s = minutes(job->time_limit);
    /* The number of nodes has a default that nobody asked for. */
    if (slurm_option_isset(opt, "nodes"))
        request->nodes = count32(job->min_nodes);
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
    request->hands_off = hands_off(opt);
    /* Not freed: some of its texts are the options' own (submit_line in 22.05), which ones differs
     * by release, and the program is about to use them. */
    return true;
}

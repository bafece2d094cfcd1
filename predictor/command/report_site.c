/* SPDX-License-Identifier: Apache-2.0 */
/* What the partitions of dltime.conf would rest on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../plugin/advise/advise.h"
#include "base/error.h"
#include "base/text.h"
#include "command/report.h"

const char report_probe[] = "resnet50,batch=32,epochs=1,samples=320000,setup=0";

/* One device of that kind of node. */
static void request_of(const struct dlt_site_partition *site, struct dlt_request *request)
{
    dlt_request_init(request);
    dlt_text_copy(request->partitions, sizeof request->partitions, site->name);
    if (site->shape.gpus > 0) {
        request->per_job.count = 1;
        dlt_text_copy(request->per_job.type, sizeof request->per_job.type, site->shape.gpu);
    } else {
        request->nodes = 1;
        request->cpus_per_task = site->shape.cpus;
    }
}

static void fill(struct report_partition *p, const struct dlt_site_partition *site,
                 const struct dlt_candidate *c)
{
    *p = (struct report_partition){.gpus = site->shape.gpus,
                                   .nodes = site->shape.nodes,
                                   .price = site->price,
                                   .step_s = NAN,
                                   .low_s = NAN,
                                   .high_s = NAN};
    dlt_text_copy(p->name, sizeof p->name, site->name);
    dlt_text_copy(p->device, sizeof p->device,
                  site->device[0]  ? site->device
                  : c && c->device ? c->device
                                   : site->shape.gpu);
    if (!c || c->why) {
        dlt_text_copy(p->why, sizeof p->why, c ? c->why : "no node of it takes one device");
        return;
    }
    p->basis = c->basis;
    p->step_s = c->step_s;
    p->low_s = c->step_s * c->low_s / c->job_s;
    p->high_s = c->step_s * c->high_s / c->job_s;
}

/* A partition may have several kinds of nodes: each is asked about as if it were the only one. */
static int ask(struct report *report, const struct dlt_config *config, size_t index,
               struct dlt_model *model, struct dlt_error *error)
{
    struct dlt_site_partition *site = &config->partitions[index];
    struct dlt_config alone = *config;
    struct dlt_request request;
    struct dlt_advice_question question = {.config = &alone,
                                           .request = &request,
                                           .spec = report_probe,
                                           .model = model,
                                           .modes = {.rehearsal = true}};
    struct dlt_snapshot *snapshot = NULL;
    struct dlt_advice *advice = NULL;
    int result;

    alone.partitions = site;
    alone.partition_count = 1;
    request_of(site, &request);
    result = dlt_advice_assume(&alone, NULL, &snapshot, error);
    question.snapshot = snapshot;
    if (result == 0)
        result = dlt_advise(&question, &advice, error);
    if (result == 0)
        fill(&report->partition[report->partition_count++], site,
             advice->count > 0 ? &advice->candidates[0] : NULL);
    dlt_advice_destroy(advice);
    dlt_snapshot_destroy(snapshot);
    return result;
}

int report_partitions_make(struct report *report, struct dlt_error *error)
{
    struct dlt_model *model = NULL;
    struct dlt_config config;
    int result;

    dlt_config_init(&config);
    result = dlt_config_load(report->conf, getuid(), &config, error);
    if (result == 0 && config.partition_count == 0)
        result = dlt_fail(error, "%s: describes no partition; `dltime-site install` writes them",
                          report->conf);
    if (result == 0)
        result = dlt_model_load(report_probe, NULL, &model, error);
    if (result == 0) {
        report->partition = calloc(config.partition_count, sizeof *report->partition);
        result = report->partition ? 0 : dlt_fail_memory(error);
    }
    for (size_t i = 0; i < config.partition_count && result == 0; i++)
        result = ask(report, &config, i, model, error);
    dlt_model_destroy(model);
    dlt_config_clear(&config);
    return result;
}

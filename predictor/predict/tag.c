/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/tag.h"

#include <math.h>
#include <string.h>

#include "lower/lower.h"
#include "predict/checksum.h"

enum { PAYLOAD = 20, DIGITS = 27 }; /* bytes; base64url characters of them */

static const char prefix[] = "dltime:";
static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int dlt_tag_network(const struct dlt_model *model, uint64_t *network, struct dlt_error *error)
{
    struct dlt_graph *graph = NULL;
    struct dlt_plan *plan = NULL;
    int result = -1;

    if (dlt_model_graph(model, 1, &graph, error) ||
        dlt_lower(graph, &model->training, true, 0, &plan, error))
        goto out;
    *network = dlt_checksum(dlt_framework_names[model->training.framework],
                            strlen(dlt_framework_names[model->training.framework]), 1);
    for (size_t i = 0; i < plan->unit_count; i++) {
        const struct dlt_record *record = &plan->unit[i].record;
        struct dlt_work work;
        double sizes[2];

        dlt_record_work(record, &work);
        sizes[0] = rint(work.flops);
        sizes[1] = rint(work.bytes);
        *network = dlt_checksum(record->kind->name, strlen(record->kind->name), *network);
        *network = dlt_checksum(sizes, sizeof sizes, *network + (uint64_t)record->dtype);
    }
    result = 0;
out:
    dlt_plan_destroy(plan);
    dlt_graph_destroy(graph);
    return result;
}

void dlt_tag_format(const struct dlt_tag *tag, char text[DLT_TAG_SIZE])
{
    unsigned char payload[PAYLOAD + 1] = {0};
    uint32_t check;

    memcpy(payload, &tag->network, 8);
    memcpy(payload + 8, &tag->job_s, 8);
    check = (uint32_t)dlt_checksum(payload, 16, 0);
    memcpy(payload + 16, &check, 4);
    memcpy(text, prefix, sizeof prefix - 1);
    text += sizeof prefix - 1;
    for (size_t i = 0; i < DIGITS; i++) {
        size_t bit = 6 * i;
        unsigned pair = (unsigned)payload[bit / 8] << 8 | payload[bit / 8 + 1];

        text[i] = alphabet[pair >> (10 - bit % 8) & 63];
    }
    text[DIGITS] = '\0';
}

static bool decode(const char *text, unsigned char payload[PAYLOAD + 1])
{
    memset(payload, 0, PAYLOAD + 1);
    for (size_t i = 0; i < DIGITS; i++) {
        const char *at = text[i] ? strchr(alphabet, text[i]) : NULL;
        size_t bit = 6 * i;
        unsigned pair;

        if (!at)
            return false;
        pair = (unsigned)(at - alphabet) << (10 - bit % 8);
        payload[bit / 8] |= (unsigned char)(pair >> 8);
        payload[bit / 8 + 1] |= (unsigned char)pair;
    }
    return true;
}

bool dlt_tag_find(const char *comment, struct dlt_tag *tag)
{
    const char *at = strstr(comment, prefix);
    unsigned char payload[PAYLOAD + 1];
    uint32_t check;

    if (!at || !decode(at + sizeof prefix - 1, payload))
        return false;
    memcpy(&tag->network, payload, 8);
    memcpy(&tag->job_s, payload + 8, 8);
    memcpy(&check, payload + 16, 4);
    return check == (uint32_t)dlt_checksum(payload, 16, 0) && tag->job_s > 0 &&
           isfinite(tag->job_s);
}

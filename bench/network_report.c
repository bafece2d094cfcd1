/* SPDX-License-Identifier: Apache-2.0 */
#include "network_report.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* All nodes of one operator. */
struct group {
    const char *op;
    int count;
    double forward_s, backward_s, update_s;
};

static double total(const struct group *g)
{
    return g->forward_s + g->backward_s + g->update_s;
}

static int slowest_first(const void *a, const void *b)
{
    double x = total(a), y = total(b);

    return (x < y) - (x > y);
}

static void add(struct group *groups, size_t *count, const struct bench_network_op *op)
{
    size_t i = 0;

    while (i < *count && strcmp(groups[i].op, op->op) != 0)
        i++;
    if (i == *count)
        groups[(*count)++] = (struct group){.op = op->op};
    groups[i].count++;
    groups[i].forward_s += op->forward_s;
    groups[i].backward_s += op->backward_s;
    groups[i].update_s += op->update_s;
}

void bench_network_print_ops(FILE *stream, const struct bench_network *network)
{
    size_t ops = bench_network_op_count(network), count = 0;
    struct group *groups = calloc(ops + 1, sizeof *groups);
    double all = 0;

    for (size_t i = 0; groups && i < ops; i++) {
        struct bench_network_op op = bench_network_op_at(network, i);

        all += op.forward_s + op.backward_s + op.update_s;
        add(groups, &count, &op);
    }
    if (count > 0)
        qsort(groups, count, sizeof *groups, slowest_first);
    fprintf(stream, "#   %-28s %5s %8s %8s %8s %6s\n", "OPERATOR", "N", "FORWARD", "BACKWARD",
            "UPDATE", "SHARE");
    for (size_t i = 0; i < count && total(&groups[i]) > 0; i++) {
        const struct group *g = &groups[i];
        char forward[32], backward[32], update[32];

        fprintf(stream, "    %-28s %5d %8s %8s %8s %4.1f %%\n", g->op, g->count,
                dlt_text_from_seconds(forward, g->forward_s),
                dlt_text_from_seconds(backward, g->backward_s),
                dlt_text_from_seconds(update, g->update_s), 100 * total(g) / all);
    }
    free(groups);
}

static void add_ms(struct json_object *object, const char *name, double seconds)
{
    json_object_object_add(object, name, json_object_new_double(1e3 * seconds));
}

static void add_mib(struct json_object *object, const char *name, double bytes)
{
    json_object_object_add(object, name,
                           bytes > 0 ? json_object_new_double(bytes / 1048576) : NULL);
}

static struct json_object *list_ops(const struct bench_network *network)
{
    struct json_object *list = json_object_new_array();

    for (size_t i = 0; list && i < bench_network_op_count(network); i++) {
        struct bench_network_op op = bench_network_op_at(network, i);
        struct json_object *one = json_object_new_object();

        json_object_object_add(one, "name", json_object_new_string(op.name));
        json_object_object_add(one, "op", json_object_new_string(op.op));
        add_ms(one, "forward_ms", op.forward_s);
        add_ms(one, "backward_ms", op.backward_s);
        add_ms(one, "update_ms", op.update_s);
        json_object_array_add(list, one);
    }
    return list;
}

int bench_network_print_json(FILE *stream, const struct bench_network *network,
                             const struct dlt_run *run, size_t steps, double least_s, bool ops,
                             struct dlt_error *error)
{
    struct json_object *object = json_object_new_object();

    if (!object)
        return dlt_fail_memory(error);
    json_object_object_add(object, "model", json_object_new_string(run->model));
    json_object_object_add(object, "device", json_object_new_string(run->device));
    json_object_object_add(object, "batch", json_object_new_int64(run->batch));
    json_object_object_add(object, "steps", json_object_new_int64((int64_t)steps));
    add_ms(object, "forward_ms", run->forward_s);
    add_ms(object, "backward_ms", run->backward_s);
    add_ms(object, "step_ms", run->step_s);
    add_ms(object, "std_ms", run->std_s);
    add_ms(object, "min_ms", least_s);
    json_object_object_add(object, "samples_per_s", json_object_new_double(run->throughput));
    json_object_object_add(object, "loss", json_object_new_double(bench_network_loss(network)));
    add_mib(object, "memory_mib", run->memory_bytes);
    add_mib(object, "least_memory_mib", bench_network_least_memory(network));
    if (ops)
        json_object_object_add(object, "ops", list_ops(network));
    fprintf(stream, "%s\n", json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
    json_object_put(object);
    return 0;
}

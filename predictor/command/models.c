/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "command/command.h"
#include "graph/alias.h"
#include "graph/model.h"
#include "graph/training.h"

static const char help[] =
    "Usage: dltime models [--json | --keys]\n"
    "Networks that are shipped, to be named as a SPEC: dltime check resnet50.\n\n"
    "  --json   one object: {\"models\": [{name, parameters, macs, inputs, file}, ...],\n"
    "            \"aliases\": {other name: name, ...}}\n"
    "  --keys   the keys of a SPEC instead, one a line, each with its values where they are words\n"
    "  --help   this text\n\n"
    "MACs are those of one sample, forward. Case, \"-\" and \"_\" in a name make no difference.\n"
    "dltime-model(5) tells how to describe another network.\n";

static const struct option long_options[] = {{"json", no_argument, NULL, 'j'},
                                             {"keys", no_argument, NULL, 'k'},
                                             {"help", no_argument, NULL, 'h'},
                                             {0}};

static int is_model(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

static void print_row(const struct dlt_graph *g, const struct dlt_graph_counts *counts,
                      const char *name)
{
    char parameters[32], macs[32];

    printf("%-20s %12s %10s  ", name, dlt_text_from_count(parameters, counts->total.parameters),
           dlt_text_from_count(macs, counts->total.macs));
    for (size_t i = 0; i < g->input_count; i++) {
        const struct dlt_tensor *t = &g->tensor[g->input[i]];

        for (int d = 1; d < t->rank; d++)
            printf("%s%lld", d > 1 ? " x " : i ? ", " : "", (long long)t->dim[d]);
    }
    printf("\n");
}

static void print_aliases(void)
{
    printf("\nOther names:\n");
    for (size_t i = 0; i < dlt_alias_count(); i++)
        printf("%-29s %s\n", dlt_alias_at(i)->name, dlt_alias_at(i)->model);
}

static struct json_object *aliases_json(void)
{
    struct json_object *object = json_object_new_object();

    for (size_t i = 0; i < dlt_alias_count(); i++)
        dlt_json_text(object, dlt_alias_at(i)->name, dlt_alias_at(i)->model);
    return object;
}

static struct json_object *row_json(const struct dlt_model *model, const struct dlt_graph *g,
                                    const struct dlt_graph_counts *counts, const char *name)
{
    struct json_object *row = json_object_new_object();
    struct json_object *inputs = json_object_new_array();

    dlt_json_text(row, "name", name);
    dlt_json_count(row, "parameters", counts->total.parameters);
    dlt_json_count(row, "macs", counts->total.macs);
    for (size_t i = 0; i < g->input_count; i++) {
        const struct dlt_tensor *t = &g->tensor[g->input[i]];
        struct json_object *shape = json_object_new_array();

        for (int d = 1; d < t->rank; d++)
            json_object_array_add(shape, json_object_new_int64(t->dim[d]));
        json_object_array_add(inputs, shape);
    }
    json_object_object_add(row, "inputs", inputs);
    dlt_json_text(row, "file", model->path);
    return row;
}

/* One model as a line, or as an element of rows. */
static int show(const char *name, struct json_object *rows, struct dlt_error *error)
{
    struct dlt_graph_counts counts;
    struct dlt_model *model = NULL;
    struct dlt_graph *graph = NULL;
    int status = dlt_model_load(name, NULL, &model, error);

    if (status == 0)
        status = dlt_model_graph(model, 1, &graph, error);
    if (status == 0) {
        dlt_graph_count(graph, false, &counts);
        if (rows)
            json_object_array_add(rows, row_json(model, graph, &counts, name));
        else
            print_row(graph, &counts, name);
    }
    dlt_graph_destroy(graph);
    dlt_model_destroy(model);
    return status;
}

static int show_all(bool json)
{
    struct dirent **entry = NULL;
    struct dlt_error error;
    int status = COMMAND_DONE;
    int count = scandir(dlt_models_folder(), &entry, is_model, alphasort);
    struct json_object *rows = json ? json_object_new_array() : NULL;

    if (count < 0) {
        dlt_fail(&error, "%s: cannot be read", dlt_models_folder());
        json_object_put(rows);
        return command_fail("models", &error);
    }
    if (!json)
        printf("%-20s %12s %10s  %s\n", "NAME", "PARAMETERS", "MACS", "INPUT");
    for (int i = 0; i < count; i++) {
        entry[i]->d_name[strlen(entry[i]->d_name) - 5] = '\0';
        if (show(entry[i]->d_name, rows, &error))
            status = command_fail("models", &error);
        free(entry[i]);
    }
    free(entry);
    if (!json)
        print_aliases();
    if (json) {
        struct json_object *object = json_object_new_object();

        json_object_object_add(object, "models", rows);
        json_object_object_add(object, "aliases", aliases_json());
        dlt_json_print(stdout, object);
        json_object_put(object);
    }
    return status;
}

static int show_keys(void)
{
    const char *word;

    for (size_t i = 0; i < dlt_training_key_count(); i++) {
        printf("%s", dlt_training_key_name(i));
        for (size_t k = 0; (word = dlt_training_key_word(i, k)); k++)
            printf(" %s", word);
        printf("\n");
    }
    return COMMAND_DONE;
}

struct options {
    bool json, keys;
};

static int take_option(int option, char *value, void *context)
{
    struct options *o = context;

    (void)value;
    if (option == 'j')
        o->json = true;
    else
        o->keys = true;
    return COMMAND_DONE;
}

int command_models(int argc, char **argv)
{
    struct options o = {0};
    int status = command_options("models", help, long_options, argc, argv, take_option, &o);

    if (status >= 0)
        return status;
    if (optind != argc)
        return command_usage("models", "takes no model; dltime check %s shows one", argv[optind]);
    if (o.json && o.keys)
        return command_usage("models", "--json and --keys: give one of them");
    return o.keys ? show_keys() : show_all(o.json);
}

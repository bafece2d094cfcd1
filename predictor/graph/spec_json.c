/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON spec: text, top level, training. */
#include "graph/spec_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/loader.h"
#include "graph/spec_hf.h"
#include "graph/training.h"

struct source {
    struct dlt_model_source base; /* first, so that one is the other */
    json_object *root;
};

static size_t line_of(const char *data, size_t offset)
{
    size_t line = 1;

    for (size_t i = 0; i < offset; i++)
        line += data[i] == '\n';
    return line;
}

static size_t count_members(json_object *value)
{
    size_t count = 0;

    if (json_object_is_type(value, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(value); i++)
            count += count_members(json_object_array_get_idx(value, i));
    } else if (json_object_is_type(value, json_type_object)) {
        count = (size_t)json_object_object_length(value);
        json_object_object_foreach(value, key, member)
        {
            (void)key;
            count += count_members(member);
        }
    }
    return count;
}

static int fail_syntax(const char *data, size_t offset, enum json_tokener_error reason,
                       struct dlt_error *error)
{
    size_t line = line_of(data, offset);

    if (reason == json_tokener_continue)
        return dlt_fail(error, "line %zu: the file ends in the middle of a value", line);
    if (reason == json_tokener_error_depth)
        return dlt_fail(error, "line %zu: nested more than %d deep", line, DLT_SPEC_DEPTH);
    return dlt_fail(error, "line %zu: not JSON: %s", line, json_tokener_error_desc(reason));
}

static int parse(const char *data, size_t size, json_object **root, struct dlt_error *error)
{
    static const char blank[] = " \t\r\n";
    const char *end = data + size;
    struct json_tokener *tokener;
    enum json_tokener_error reason;
    size_t used;

    if (memchr(data, '\0', size))
        return dlt_fail(error, "line %zu: holds a zero byte; a model is JSON text",
                        line_of(data, strlen(data)));
    if (strspn(data, blank) == size)
        return dlt_fail(error, "is empty");
    if (dlt_spec_check_amount(data, size, error))
        return -1;
    tokener = json_tokener_new_ex(DLT_SPEC_DEPTH);
    if (!tokener)
        return dlt_fail_memory(error);
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    *root = json_tokener_parse_ex(tokener, data, (int)size);
    reason = json_tokener_get_error(tokener);
    used = json_tokener_get_parse_end(tokener);
    json_tokener_free(tokener);
    if (reason != json_tokener_success)
        return fail_syntax(data, used, reason, error);
    if (data + used + strspn(data + used, blank) != end) {
        json_object_put(*root);
        return fail_syntax(data, used, json_tokener_error_parse_unexpected, error);
    }
    if (dlt_spec_check_keys(data, size, count_members(*root), error)) {
        json_object_put(*root);
        return -1;
    }
    return 0;
}

static int check_top(json_object *root, struct dlt_error *error)
{
    static const char *const keys[] = {"name", "input", "inputs", "layers", "training", "comment"};
    enum { KEYS = sizeof keys / sizeof *keys };

    if (!json_object_is_type(root, json_type_object))
        return dlt_fail(error, "a model is a JSON object: {\"input\": [...], \"layers\": [...]}");
    json_object_object_foreach(root, key, value)
    {
        const char *nearest = dlt_text_nearest(key, keys, KEYS);

        (void)value;
        if (dlt_name_index(keys, KEYS, key) >= 0)
            continue;
        if (nearest)
            return dlt_fail(error, "%.80s: unknown key; did you mean \"%s\"?", key, nearest);
        return dlt_fail(error,
                        "%.80s: unknown key; a model has name, input or inputs, layers and "
                        "training",
                        key);
    }
    return 0;
}

static int read_name(struct dlt_model *model, json_object *root, struct dlt_error *error)
{
    json_object *name;
    const char *text;

    if (!json_object_object_get_ex(root, "name", &name))
        return 0;
    text = json_object_get_string(name);
    if (!json_object_is_type(name, json_type_string) || !*text || strlen(text) > 200 ||
        strlen(text) != (size_t)json_object_get_string_len(name))
        return dlt_fail(error, "name: expected a name of 1 to 200 bytes");
    model->name = strdup(text);
    if (!model->name)
        return dlt_fail_memory(error);
    dlt_text_printable(model->name);
    return 0;
}

static int read_training(struct dlt_training *training, json_object *root, struct dlt_error *error)
{
    struct dlt_training_seen seen = {0};
    json_object *section;
    const char *text;

    if (!json_object_object_get_ex(root, "training", &section))
        return 0;
    if (!json_object_is_type(section, json_type_object))
        return dlt_fail(error, "training: expected an object");
    json_object_object_foreach(section, key, value)
    {
        if (strcmp(key, "comment") == 0)
            continue;
        switch (json_object_get_type(value)) {
        case json_type_string:
        case json_type_int:
        case json_type_double:
        case json_type_boolean:
            break;
        default:
            return dlt_fail(error, "training.%.80s: expected a number, a word, true or false", key);
        }
        text = json_object_get_string(value); /* of a number, it is made now */
        if (!text)
            return dlt_fail_memory(error);
        if (dlt_training_apply(training, &seen, key, text, error))
            return dlt_fail_in(error, "training.");
    }
    return 0;
}

static int build(const struct dlt_model_source *source, const char *name, int64_t batch,
                 int64_t seq, struct dlt_graph **graph, struct dlt_error *error)
{
    json_object *root = ((const struct source *)(const void *)source)->root;
    struct dlt_builder *builder = dlt_builder_create(name, batch, seq);
    int status;

    if (!builder)
        return dlt_fail_memory(error);
    status = dlt_spec_layers(root, seq, builder, error);
    if (status == 0)
        status = dlt_builder_finish(builder, graph, error);
    dlt_builder_destroy(builder);
    return status;
}

static void destroy(struct dlt_model_source *source)
{
    json_object_put(((struct source *)(void *)source)->root);
    free(source);
}

/* A configuration of transformers becomes the document that describes the same network. */
static int translate(struct dlt_model *model, json_object **root, struct dlt_error *error)
{
    json_object *spec;
    char *text;
    int status;

    if (!dlt_hf_recognise(*root))
        return 0;
    model->name = strdup(dlt_hf_name(*root));
    if (!model->name)
        return dlt_fail_memory(error);
    dlt_text_printable(model->name);
    if (dlt_hf_write(*root, &text, error))
        return -1;
    status = parse(text, strlen(text), &spec, error);
    free(text);
    if (status)
        return -1;
    json_object_put(*root);
    *root = spec;
    return 0;
}

int dlt_spec_json_load(struct dlt_model *model, const char *data, size_t size,
                       struct dlt_error *error)
{
    struct source *source = calloc(1, sizeof *source);

    if (!source)
        return dlt_fail_memory(error);
    source->base.graph = build;
    source->base.destroy = destroy;
    if (parse(data, size, &source->root, error)) {
        free(source);
        return -1;
    }
    model->source = &source->base;
    if (translate(model, &source->root, error) || check_top(source->root, error) ||
        read_name(model, source->root, error) ||
        read_training(&model->training, source->root, error))
        return -1;
    return 0;
}

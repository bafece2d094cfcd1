/* SPDX-License-Identifier: Apache-2.0 */
/* Layers, blocks and references of a JSON spec. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/spec_walk.h"

enum { NAME_LENGTH = 128 };

static const char *const layer_keys[] = {"op", "name", "inputs", "weights", "trainable", "comment"};
static const char *const block_keys[] = {"layers", "repeat",    "name",
                                         "inputs", "trainable", "comment"};
enum { LAYER_KEYS = sizeof layer_keys / sizeof *layer_keys };
enum { BLOCK_KEYS = sizeof block_keys / sizeof *block_keys };

static bool is_printable(const char *text)
{
    char copy[NAME_LENGTH + 1];

    dlt_text_copy(copy, sizeof copy, text);
    dlt_text_printable(copy);
    return strcmp(copy, text) == 0;
}

/* The "name" of a layer or block, or a made-up one that cannot be mistaken for it. */
static int read_name(struct dlt_walk *w, json_object *layer, const char *fallback, size_t index,
                     char name[NAME_LENGTH + 1], bool *given)
{
    json_object *value;
    const char *text;
    char shown[DLT_SPEC_SHOWN];
    size_t before;

    *given = json_object_object_get_ex(layer, "name", &value);
    if (!*given) {
        snprintf(name, NAME_LENGTH + 1, "%s_%zu", fallback, index);
        return 0;
    }
    before = dlt_spec_enter(w->path, ".name");
    if (!json_object_is_type(value, json_type_string))
        return dlt_spec_fail(w->path, w->error, "expected a name, not %s",
                             dlt_spec_shown(value, shown));
    text = json_object_get_string(value);
    if (strlen(text) != (size_t)json_object_get_string_len(value) || !*text ||
        strlen(text) > NAME_LENGTH || *text == '@' || strpbrk(text, "[]: ") || !is_printable(text))
        return dlt_spec_fail(
            w->path, w->error,
            "a name has 1 to %d bytes, none of them a space, a colon, a bracket or a "
            "control character, and does not start with @",
            NAME_LENGTH);
    strcpy(name, text);
    dlt_spec_back(w->path, before);
    return 0;
}

/* "trainable": false freezes; inside a frozen block nothing thaws. */
static int read_frozen(struct dlt_walk *w, json_object *layer, bool *frozen)
{
    json_object *value;
    char shown[DLT_SPEC_SHOWN];

    *frozen = w->frozen;
    if (!json_object_object_get_ex(layer, "trainable", &value))
        return 0;
    if (!json_object_is_type(value, json_type_boolean)) {
        dlt_spec_enter(w->path, ".trainable");
        return dlt_spec_fail(w->path, w->error, "expected true or false, not %s",
                             dlt_spec_shown(value, shown));
    }
    *frozen = w->frozen || !json_object_get_boolean(value);
    return 0;
}

static const struct dlt_attribute *find_attribute(const struct dlt_op *op, const char *name)
{
    for (const struct dlt_attribute *a = op->attribute; a->name; a++)
        if (strcmp(a->name, name) == 0)
            return a;
    return NULL;
}

static int fail_attribute(struct dlt_walk *w, const struct dlt_op *op, const char *key)
{
    const char *names[DLT_OP_ATTRIBUTES + LAYER_KEYS];
    const char *nearest;
    size_t count = 0;

    for (const struct dlt_attribute *a = op->attribute; a->name; a++)
        names[count++] = a->name;
    for (size_t i = 0; i < LAYER_KEYS; i++)
        names[count++] = layer_keys[i];
    nearest = dlt_text_nearest(key, names, count);
    dlt_spec_enter(w->path, ".%.80s", key);
    if (nearest)
        return dlt_spec_fail(w->path, w->error, "unknown attribute of %s; did you mean \"%s\"?",
                             op->name, nearest);
    return dlt_spec_fail(w->path, w->error, "unknown attribute of %s", op->name);
}

static int read_attributes(struct dlt_walk *w, json_object *layer, const struct dlt_op *op,
                           int64_t numbers[DLT_ATTRIBUTES])
{
    struct json_object_iterator at = json_object_iter_begin(layer);
    struct json_object_iterator end = json_object_iter_end(layer);
    unsigned given = 0;

    dlt_op_defaults(op, numbers);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *key = json_object_iter_peek_name(&at);
        const struct dlt_attribute *a = find_attribute(op, key);
        size_t before;

        if (!a && dlt_name_index(layer_keys, LAYER_KEYS, key) >= 0)
            continue;
        if (!a)
            return fail_attribute(w, op, key);
        given |= 1U << (a - op->attribute);
        before = dlt_spec_enter(w->path, ".%s", key);
        if (dlt_spec_attribute(w->path, op, a, json_object_iter_peek_value(&at), w->seq, numbers,
                               w->error))
            return -1;
        dlt_spec_back(w->path, before);
    }
    for (const struct dlt_attribute *a = op->attribute; a->name; a++)
        if (a->required && !(given >> (a - op->attribute) & 1))
            return dlt_spec_fail(w->path, w->error, "%s needs \"%s\"", op->name, a->name);
    return 0;
}

static int read_op(struct dlt_walk *w, json_object *layer, const struct dlt_op **op)
{
    json_object *value;
    const char *nearest;
    char shown[DLT_SPEC_SHOWN];

    if (!json_object_object_get_ex(layer, "op", &value))
        return dlt_spec_fail(w->path, w->error,
                             "a layer needs \"op\", a block \"layers\"; this has neither");
    *op = json_object_is_type(value, json_type_string) ? dlt_op_find(json_object_get_string(value))
                                                       : NULL;
    if (*op)
        return 0;
    dlt_spec_enter(w->path, ".op");
    nearest = json_object_is_type(value, json_type_string)
                  ? dlt_op_nearest(json_object_get_string(value))
                  : NULL;
    dlt_spec_shown(value, shown);
    if (nearest)
        return dlt_spec_fail(w->path, w->error, "unknown operator %s; did you mean \"%s\"?",
                             dlt_spec_shown(value, shown), nearest);
    return dlt_spec_fail(w->path, w->error, "unknown operator %s; dltime-model(5) lists them",
                         dlt_spec_shown(value, shown));
}

static int read_weights(struct dlt_walk *w, json_object *layer, int *owner)
{
    json_object *value;
    const struct dlt_name *name;
    size_t before;

    *owner = -1;
    if (!json_object_object_get_ex(layer, "weights", &value))
        return 0;
    before = dlt_spec_enter(w->path, ".weights");
    if (!json_object_is_type(value, json_type_string))
        return dlt_spec_fail(w->path, w->error, "expected the name of a layer");
    name = dlt_walk_find(w, json_object_get_string(value));
    if (!name || name->node < 0)
        return dlt_walk_fail_reference(w, json_object_get_string(value));
    *owner = name->node;
    dlt_spec_back(w->path, before);
    return 0;
}

/* What makes a tensor from nothing reads nothing, rather than the layer before. */
static int read_inputs(struct dlt_walk *w, json_object *layer, const struct dlt_op *op)
{
    if (op->most_inputs > 0 || json_object_object_get_ex(layer, "inputs", NULL))
        return dlt_walk_inputs(w, layer);
    w->references = 0;
    return 0;
}

static int add_layer(struct dlt_walk *w, json_object *layer, size_t index)
{
    int64_t numbers[DLT_ATTRIBUTES];
    char local[NAME_LENGTH + 1], full[DLT_SPEC_PATH];
    struct dlt_builder_node node = {.attribute = numbers, .input = w->reference, .name = full};
    bool given;
    int added;

    if (read_op(w, layer, &node.op) || read_attributes(w, layer, node.op, numbers) ||
        read_name(w, layer, node.op->name, index, local, &given) ||
        dlt_walk_name(w, w->prefix_length, local, full) || read_inputs(w, layer, node.op) ||
        read_weights(w, layer, &node.weights_of) || read_frozen(w, layer, &node.frozen))
        return -1;
    node.input_count = w->references;
    added = dlt_builder_add(w->builder, &node, w->error);
    if (added < 0)
        return dlt_fail_in(w->error, "%s (%s%s%s): ", w->path->text, node.op->name,
                           given || w->depth ? " " : "", given || w->depth ? full : "");
    w->current = dlt_builder_output(w->builder, added, 0);
    return given ? dlt_walk_register(w, local, w->current, added) : 0;
}

static int add_item(struct dlt_walk *w, json_object *item, size_t index);

/* The layers of one pass through a block or of the network. */
static int add_layers(struct dlt_walk *w, json_object *parent)
{
    json_object *layers;
    size_t before = dlt_spec_enter(w->path, "%slayers", w->path->length ? "." : "");

    if (!json_object_object_get_ex(parent, "layers", &layers))
        return dlt_spec_fail(w->path, w->error, "missing");
    if (!json_object_is_type(layers, json_type_array) || json_object_array_length(layers) == 0)
        return dlt_spec_fail(w->path, w->error, "expected a list of layers, at least one");
    for (size_t i = 0; i < json_object_array_length(layers); i++) {
        size_t inner = dlt_spec_enter(w->path, "[%zu]", i);

        if (add_item(w, json_object_array_get_idx(layers, i), i))
            return -1;
        dlt_spec_back(w->path, inner);
    }
    dlt_spec_back(w->path, before);
    return 0;
}

/* One pass: its names get "name[i]." (or "name.") before them. */
static int add_pass(struct dlt_walk *w, json_object *block, const char *local)
{
    size_t prefix = w->prefix_length;
    int input = w->block_input;
    int length = snprintf(w->prefix + prefix, sizeof w->prefix - prefix, "%s.", local);

    if (length < 0 || (size_t)length >= sizeof w->prefix - prefix || w->depth >= DLT_SPEC_DEPTH)
        return dlt_spec_fail(w->path, w->error, "names of nested blocks are longer than %d bytes",
                             DLT_SPEC_PATH);
    w->prefix_length += (size_t)length;
    w->scope[++w->depth] = w->prefix_length;
    w->block_input = w->current;
    if (add_layers(w, block))
        return -1;
    w->depth--;
    w->block_input = input;
    w->prefix_length = prefix;
    w->prefix[prefix] = '\0';
    return 0;
}

static int check_block_keys(struct dlt_walk *w, json_object *block)
{
    struct json_object_iterator at = json_object_iter_begin(block);
    struct json_object_iterator end = json_object_iter_end(block);

    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *key = json_object_iter_peek_name(&at);
        const char *nearest;

        if (dlt_name_index(block_keys, BLOCK_KEYS, key) >= 0)
            continue;
        nearest = dlt_text_nearest(key, block_keys, BLOCK_KEYS);
        dlt_spec_enter(w->path, ".%.80s", key);
        return dlt_spec_fail(w->path, w->error, "unknown key of a block%s%s%s",
                             nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                             nearest ? "\"?" : "");
    }
    return 0;
}

static int add_block(struct dlt_walk *w, json_object *block, size_t index)
{
    char local[NAME_LENGTH + 1], pass[NAME_LENGTH + 32];
    bool given, frozen = w->frozen;
    json_object *value;
    int64_t repeat = 1;
    bool repeated = json_object_object_get_ex(block, "repeat", &value);

    if (check_block_keys(w, block) || read_name(w, block, "block", index, local, &given) ||
        (given && dlt_walk_register(w, local, -1, -1)) || read_frozen(w, block, &w->frozen))
        return -1;
    if (repeated) {
        size_t before = dlt_spec_enter(w->path, ".repeat");

        if (dlt_spec_size(w->path, value, w->seq, 1, DLT_GRAPH_NODES, &repeat, w->error))
            return -1;
        dlt_spec_back(w->path, before);
    }
    if (dlt_walk_inputs(w, block))
        return -1;
    if (w->references != 1)
        return dlt_spec_fail(w->path, w->error, "a block takes one input, not %zu", w->references);
    w->current = w->reference[0];
    for (int64_t i = 0; i < repeat; i++) {
        if (repeated)
            snprintf(pass, sizeof pass, "%s[%lld]", local, (long long)i);
        else
            strcpy(pass, local);
        if (add_pass(w, block, pass))
            return -1;
        if (given && repeated && dlt_walk_register(w, pass, w->current, -1))
            return -1;
    }
    if (given) {
        char full[DLT_SPEC_PATH];

        if (dlt_walk_name(w, w->prefix_length, local, full))
            return -1;
        dlt_names_move(&w->names, full, w->current, -1);
    }
    w->frozen = frozen;
    return 0;
}

static int add_item(struct dlt_walk *w, json_object *item, size_t index)
{
    char shown[DLT_SPEC_SHOWN];

    if (!json_object_is_type(item, json_type_object))
        return dlt_spec_fail(w->path, w->error, "expected a layer, not %s",
                             dlt_spec_shown(item, shown));
    if (json_object_object_get_ex(item, "layers", NULL) ||
        json_object_object_get_ex(item, "repeat", NULL))
        return add_block(w, item, index);
    return add_layer(w, item, index);
}

int dlt_spec_layers(json_object *root, int64_t seq, struct dlt_builder *builder,
                    struct dlt_error *error)
{
    struct dlt_spec_path path = {.length = 0};
    struct dlt_walk *walk = calloc(1, sizeof *walk);
    int status;

    if (!walk)
        return dlt_fail_memory(error);
    walk->path = &path;
    walk->builder = builder;
    walk->error = error;
    walk->seq = seq;
    status = dlt_walk_add_inputs(walk, root) || add_layers(walk, root) ? -1 : 0;
    dlt_names_clear(&walk->names);
    free(walk);
    return status;
}

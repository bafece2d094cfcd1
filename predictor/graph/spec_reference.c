/* SPDX-License-Identifier: Apache-2.0 */
/* Names and references of a JSON spec. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/spec_walk.h"

int dlt_walk_name(struct dlt_walk *w, size_t prefix, const char *local, char full[DLT_SPEC_PATH])
{
    if (prefix + strlen(local) >= DLT_SPEC_PATH)
        return dlt_spec_fail(w->path, w->error, "names of nested blocks are longer than %d bytes",
                             DLT_SPEC_PATH);
    memcpy(full, w->prefix, prefix);
    strcpy(full + prefix, local);
    return 0;
}

const struct dlt_name *dlt_walk_find(struct dlt_walk *w, const char *local)
{
    char full[DLT_SPEC_PATH];

    for (size_t level = w->depth + 1; level-- > 0;) {
        const struct dlt_name *found;

        if (w->scope[level] + strlen(local) >= sizeof full)
            continue;
        dlt_walk_name(w, w->scope[level], local, full);
        found = dlt_names_find(&w->names, full);
        if (found)
            return found;
    }
    return NULL;
}

/* A name that looks like what was meant, as it would be written here. */
int dlt_walk_fail_reference(struct dlt_walk *w, const char *text)
{
    const char **names = malloc((2 * w->names.count + 2) * sizeof *names);
    const char *nearest;
    size_t count = 0;

    if (!names)
        return dlt_fail_memory(w->error);
    names[count++] = "@input";
    for (size_t i = 0; i < w->names.room; i++) {
        const char *name = w->names.slot[i].text;

        if (!name)
            continue;
        if (w->prefix_length && strncmp(name, w->prefix, w->prefix_length) == 0)
            names[count++] = name + w->prefix_length;
        names[count++] = name;
    }
    nearest = dlt_text_nearest(text, names, count);
    if (nearest)
        dlt_spec_fail(w->path, w->error, "no layer \"%.80s\" before this one; did you mean \"%s\"?",
                      text, nearest);
    else
        dlt_spec_fail(w->path, w->error, "no layer \"%.80s\" before this one", text);
    free(names);
    return -1;
}

/* The tensor that "name", "name:1", "@" or "@input" means. */
static int resolve(struct dlt_walk *w, const char *text, int *tensor)
{
    const struct dlt_name *name = NULL;
    char local[DLT_SPEC_PATH];
    int64_t output = 0;
    char *colon;

    if (strcmp(text, "@") == 0 || strcmp(text, "@input") == 0) {
        *tensor = text[1] ? w->block_input : w->current;
        if (*tensor < 0)
            return dlt_spec_fail(w->path, w->error,
                                 "\"%s\" is ambiguous: the network has several inputs; name one",
                                 text);
        return 0;
    }
    if (!dlt_text_copy(local, sizeof local, text))
        return dlt_walk_fail_reference(w, text);
    colon = strrchr(local, ':');
    if (colon) {
        *colon = '\0';
        if (!dlt_text_to_int64(colon + 1, &output) || output < 0 || output >= DLT_OP_OUTPUTS)
            return dlt_spec_fail(w->path, w->error,
                                 "\"%.80s\": after the colon stands the number "
                                 "of an output, from 0",
                                 text);
    }
    name = dlt_walk_find(w, local);
    if (!name)
        return dlt_walk_fail_reference(w, local);
    if (name->tensor < 0)
        return dlt_spec_fail(w->path, w->error, "\"%.80s\" is the block that this layer lies in",
                             text);
    *tensor = name->tensor;
    if (output > 0)
        *tensor = name->node < 0 ? -1 : dlt_builder_output(w->builder, name->node, (size_t)output);
    if (*tensor < 0)
        return dlt_spec_fail(w->path, w->error, "\"%.80s\" has no output %lld", local,
                             (long long)output);
    return 0;
}

/* Fills w->reference from "inputs", or with "@". */
int dlt_walk_inputs(struct dlt_walk *w, json_object *layer)
{
    json_object *inputs;
    size_t before;

    if (!json_object_object_get_ex(layer, "inputs", &inputs)) {
        w->references = 1;
        return resolve(w, "@", &w->reference[0]);
    }
    before = dlt_spec_enter(w->path, ".inputs");
    if (!json_object_is_type(inputs, json_type_array) ||
        json_object_array_length(inputs) > DLT_WALK_INPUTS)
        return dlt_spec_fail(w->path, w->error, "expected a list of 1 to %d names",
                             DLT_WALK_INPUTS);
    w->references = json_object_array_length(inputs);
    for (size_t i = 0; i < w->references; i++) {
        json_object *reference = json_object_array_get_idx(inputs, i);
        size_t inner = dlt_spec_enter(w->path, "[%zu]", i);
        char shown[DLT_SPEC_SHOWN];

        if (!json_object_is_type(reference, json_type_string))
            return dlt_spec_fail(w->path, w->error, "expected a layer's name, not %s",
                                 dlt_spec_shown(reference, shown));
        if (resolve(w, json_object_get_string(reference), &w->reference[i]))
            return -1;
        dlt_spec_back(w->path, inner);
    }
    dlt_spec_back(w->path, before);
    return 0;
}

int dlt_walk_register(struct dlt_walk *w, const char *local, int tensor, int node)
{
    char full[DLT_SPEC_PATH];
    int added;

    if (dlt_walk_name(w, w->prefix_length, local, full))
        return -1;
    added = dlt_names_add(&w->names, full, tensor, node);
    if (added < 0)
        return dlt_fail_memory(w->error);
    if (added == 0)
        return dlt_spec_fail(w->path, w->error, "the name \"%s\" is taken already", local);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of an ONNX graph, and what their symbolic sizes stand for. */
#include <string.h>

#include "base/text.h"
#include "graph/onnx_build.h"

/* Names that exporters give to the two sizes that a file may leave open. A name that holds one of
 * the words, or is one of the letters. */
static const char *const batch_words[] = {"batch", "bsz", NULL};
static const char *const batch_letters[] = {"n", "b", "bs", NULL};
static const char *const seq_words[] = {"seq", "len", "time", "token", "step", "frame", NULL};
static const char *const seq_letters[] = {"s", "t", "l", NULL};

static bool matches(const char *param, const char *const *words, const char *const *letters)
{
    char lower[64];
    size_t i;

    for (i = 0; i + 1 < sizeof lower && param[i]; i++)
        lower[i] = dlt_text_lower(param[i]);
    lower[i] = '\0';
    for (; *words; words++)
        if (strstr(lower, *words))
            return true;
    for (; *letters; letters++)
        if (strcmp(lower, *letters) == 0)
            return true;
    return false;
}

static bool is_batch(const char *param, int position)
{
    if (matches(param, batch_words, batch_letters))
        return true;
    return position == 0 && !matches(param, seq_words, seq_letters);
}

int64_t dlt_onnx_symbol(const struct dlt_onnx_build *b, const char *param, int position)
{
    return is_batch(param, position) ? b->batch : b->seq;
}

static bool is_initializer(const struct dlt_onnx_build *b, int name)
{
    return b->scope->value[name].kind != DLT_ONNX_NOTHING;
}

/* What literal shapes in the file were written for: the size that all inputs begin with, where none
 * of them has a symbolic batch. 0: there is no such size. */
static int64_t find_file_batch(const struct dlt_onnx_build *b)
{
    const struct dlt_onnx_graph *g = &b->model->graph;
    int64_t size = 0;

    for (size_t i = 0; i < g->input_count; i++) {
        const struct dlt_onnx_info *info = &g->input[i];

        if (is_initializer(b, info->name) || info->rank < 1)
            continue;
        for (int d = 0; d < info->rank; d++)
            if (info->dim[d].value < 0 && is_batch(info->dim[d].param, d))
                return 0;
        if (info->dim[0].value < 0 || (size && info->dim[0].value != size))
            return 0;
        size = info->dim[0].value;
    }
    return size;
}

static int bind_input(struct dlt_onnx_build *b, const struct dlt_onnx_info *info)
{
    const char *name = b->scope->names->text[info->name];
    struct dlt_onnx_value value = {.kind = DLT_ONNX_TENSOR};
    int64_t dim[DLT_RANK];

    if (info->type == 0)
        return dlt_fail(b->error, "input \"%.200s\" is no tensor", name);
    if (info->rank < 0)
        return dlt_fail(b->error,
                        "input \"%.200s\": the file does not say its shape; export it with one",
                        name);
    for (int d = 0; d < info->rank; d++) {
        const struct dlt_onnx_dim *size = &info->dim[d];

        dim[d] = size->value < 0 ? dlt_onnx_symbol(b, size->param, d) : size->value;
        if (size->value < 0 && dim[d] == 0)
            return dlt_fail(b->error,
                            "input \"%.200s\": dimension %d is symbolic%s%.80s%s; say what it is "
                            "with seq=N",
                            name, d, *size->param ? " (\"" : "", size->param,
                            *size->param ? "\")" : "");
        if (d == 0 && b->file_batch > 0)
            dim[d] = b->batch;
    }
    value.tensor = dlt_builder_input_shaped(b->builder, dim, (size_t)info->rank,
                                            dlt_onnx_our_type(info->type), b->error);
    if (value.tensor < 0)
        return dlt_fail_in(b->error, "input \"%.200s\": ", name);
    b->scope->value[info->name] = value;
    return 0;
}

int dlt_onnx_bind_inputs(struct dlt_onnx_build *b)
{
    const struct dlt_onnx_graph *g = &b->model->graph;
    bool symbolic = false, any = false;

    b->file_batch = find_file_batch(b);
    for (size_t i = 0; i < g->input_count; i++) {
        const struct dlt_onnx_info *info = &g->input[i];

        /* Old files list their initializers among the inputs. */
        if (is_initializer(b, info->name))
            continue;
        any = true;
        for (int d = 0; d < info->rank; d++)
            symbolic |= info->dim[d].value < 0 && is_batch(info->dim[d].param, d);
        if (bind_input(b, info))
            return -1;
    }
    if (any && !symbolic && b->file_batch == 0)
        dlt_builder_note(b->builder, "its inputs do not begin with one common size, so that the "
                                     "file's own sizes stand, whatever the batch");
    return 0;
}

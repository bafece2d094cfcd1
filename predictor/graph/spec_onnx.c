/* SPDX-License-Identifier: Apache-2.0 */
/* The ONNX loader: the file is read once; a graph is built for each batch. */
#include <stdlib.h>

#include "base/error.h"
#include "graph/loader.h"
#include "graph/onnx_build.h"

enum { OLDEST = 7 };

struct source {
    struct dlt_model_source base; /* first, so that one is the other */
    struct dlt_onnx_model *onnx;
};

static int build(const struct dlt_model_source *source, const char *name, int64_t batch,
                 int64_t seq, struct dlt_graph **graph, struct dlt_error *error)
{
    struct dlt_error sentence = {.text = ""};
    struct dlt_onnx_build b = {.model = ((const struct source *)(const void *)source)->onnx,
                               .builder = dlt_builder_create(name, batch, seq),
                               .batch = batch,
                               .seq = seq,
                               .error = error ? error : &sentence};
    int status;

    if (!b.builder)
        return dlt_fail_memory(error);
    status = dlt_onnx_walk(&b);
    if (status == 0)
        status = dlt_builder_finish(b.builder, graph, error);
    dlt_onnx_release(&b.arena);
    dlt_builder_destroy(b.builder);
    return status;
}

static void destroy(struct dlt_model_source *source)
{
    dlt_onnx_destroy(((struct source *)(void *)source)->onnx);
    free(source);
}

int dlt_spec_onnx_load(struct dlt_model *model, int fd, int64_t size, struct dlt_error *error)
{
    struct source *source = calloc(1, sizeof *source);

    if (!source)
        return dlt_fail_memory(error);
    source->base.graph = build;
    source->base.destroy = destroy;
    if (dlt_onnx_read(fd, size, &source->onnx, error)) {
        free(source);
        return -1;
    }
    model->source = &source->base;
    if (source->onnx->opset > 0 && source->onnx->opset < OLDEST)
        return dlt_fail(error, "opset %d is too old; export the model with opset 9 or later",
                        source->onnx->opset);
    return 0;
}

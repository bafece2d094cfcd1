/*
 * loader.h - what a file format has to provide: a source that can build the graph for any batch.
 *
 * A loader reads a file once and keeps what it needs; graphs are built from that, with
 * graph/builder.h, whenever a batch is known. Formats are rows of the table in model.c.
 */
#ifndef DLT_GRAPH_LOADER_H
#define DLT_GRAPH_LOADER_H

#include "graph/model.h"

struct dlt_model_source {
    /* Errors name the place inside the file; the caller puts the file before it. seq 0: not said.
     */
    int (*graph)(const struct dlt_model_source *source, const char *name, int64_t batch,
                 int64_t seq, struct dlt_graph **graph, struct dlt_error *error);
    void (*destroy)(struct dlt_model_source *source);
};

struct dlt_loader {
    const char *suffix; /* ".json" */
    /* Whether the file may be one of this format, by its first bytes (at least one). */
    bool (*recognise)(const unsigned char *begin, size_t size);
    /* Both fill model->source, what the file says of model->training, and model->name if the file
     * has one. text: of a format that is read as a whole; size bytes and a NUL behind them, the
     * caller's. file: of one that is not; the caller's as well. */
    int (*text)(struct dlt_model *model, const char *data, size_t size, struct dlt_error *error);
    int (*file)(struct dlt_model *model, int fd, int64_t size, struct dlt_error *error);
};

int dlt_spec_onnx_load(struct dlt_model *model, int fd, int64_t size, struct dlt_error *error);
int dlt_spec_json_load(struct dlt_model *model, const char *data, size_t size,
                       struct dlt_error *error);

#endif

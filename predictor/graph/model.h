/*
 * model.h - a specification as it was read: the network's source and the training asked for.
 *
 * The source is kept, because the graph depends on the batch of one device and that may only be
 * known once the devices are (global_batch).
 */
#ifndef DLT_GRAPH_MODEL_H
#define DLT_GRAPH_MODEL_H

#include "graph/graph.h"

enum dlt_precision {
    DLT_PRECISION_FLOAT32,
    DLT_PRECISION_TF32,
    DLT_PRECISION_FLOAT16,
    DLT_PRECISION_BFLOAT16,
    DLT_PRECISION_AMP_FLOAT16,
    DLT_PRECISION_AMP_BFLOAT16,
    DLT_PRECISIONS
};
enum dlt_framework { DLT_PYTORCH, DLT_TENSORFLOW, DLT_JAX, DLT_FRAMEWORK_NONE, DLT_FRAMEWORKS };
enum dlt_sharding { DLT_DDP, DLT_ZERO1, DLT_ZERO2, DLT_ZERO3, DLT_FSDP, DLT_SHARDINGS };

extern const char *const dlt_precision_names[DLT_PRECISIONS];
extern const char *const dlt_framework_names[DLT_FRAMEWORKS];
extern const char *const dlt_sharding_names[DLT_SHARDINGS];

/* The keys of `training`. 0 (or NaN for times) means: not said. */
struct dlt_training {
    int64_t samples;      /* in the training set */
    int64_t batch;        /* of one device */
    int64_t global_batch; /* of all devices together; instead of batch */
    double epochs;
    int64_t steps; /* instead of samples x epochs */
    int64_t start_epoch;
    int64_t seq;                            /* what "seq" stands for */
    enum dlt_optimizer optimizer;           /* default sgd */
    enum dlt_implementation implementation; /* default foreach */
    enum dlt_precision precision;           /* default float32 */
    enum dlt_layout layout;                 /* default nchw */
    enum dlt_framework framework;           /* default pytorch */
    bool compile;
    int64_t accumulate; /* default 1 */
    bool drop_last;
    bool recompute;
    enum dlt_sharding sharding; /* default ddp */
    int64_t devices;            /* fewer than allocated */
    int64_t validation_samples;
    double checkpoint_every; /* epochs between checkpoints */
    double checkpoint_bytes;
    double checkpoint_bandwidth; /* bytes/s */
    double loader_samples_per_s; /* of all devices together */
    double setup_s;              /* NaN: not said */
    int64_t runs;                /* default 1 */
};

struct dlt_model_source; /* private to the loaders */

struct dlt_model {
    char *name;
    char *path; /* where it was read from, for messages */
    struct dlt_training training;
    struct dlt_model_source *source;
};

/* Builds the graph for a batch on one device (>= 1). The caller destroys it.
 * Fails where a shape does not fit, with the JSON path of the layer. */
int dlt_model_graph(const struct dlt_model *model, int64_t batch, struct dlt_graph **graph,
                    struct dlt_error *error);

/* Sets one training key from text ("batch", "256"), as on a command line. Unknown keys name the
 * nearest known one. */
int dlt_training_set(struct dlt_training *training, const char *key, const char *value,
                     struct dlt_error *error);

/* The batch of one device: batch, or global_batch over devices (rounded up); 0 if neither. */
int64_t dlt_training_batch(const struct dlt_training *training, int devices);

/* Where shipped models lie: the source tree's etc/models when run from the build tree, else the
 * installed folder. Owned by the library. */
const char *dlt_models_folder(void);

#endif

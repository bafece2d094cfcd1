/* SPDX-License-Identifier: Apache-2.0 */
/* What a network has beside its convolutions, as sums over its units. */
#include "predict/table.h"

#include <string.h>

enum {
    CONSTANT,
    KERNELS,      /* of everything but convolutions */
    CONVOLUTIONS, /* their kernels */
    POOL,         /* elements of all windows */
    NORM,         /* bytes, up to PRODUCTS */
    LIGHT,        /* activations and arithmetic of an instruction or two */
    HEAVY,        /* activations with a power in them */
    DROPOUT,
    MOVE,
    OTHER,
    PRODUCTS,        /* multiply-accumulates of dense layers and the like */
    PRODUCT_WEIGHTS, /* elements, up to UPDATED */
    CONV_TENSORS,    /* input and output */
    CONV_WEIGHTS,
    FRESH_WEIGHTS, /* of convolutions with more than malloc keeps */
    UPDATED,       /* reads and writes of the optimizer */
    TENSORS,
    LAST
};
_Static_assert((int)LAST == (int)DLT_TABLE_TERMS, "one coefficient for each term");
_Static_assert((int)PRODUCTS == (int)DLT_TERM_PRODUCTS, "learning knows this one");

const char *const dlt_table_term_names[DLT_TABLE_TERMS] = {
    [CONSTANT] = "constant",
    [KERNELS] = "kernels",
    [CONVOLUTIONS] = "convolutions",
    [NORM] = "norm bytes",
    [POOL] = "pool windows",
    [LIGHT] = "light bytes",
    [HEAVY] = "heavy bytes",
    [DROPOUT] = "dropout bytes",
    [MOVE] = "move bytes",
    [OTHER] = "other bytes",
    [PRODUCTS] = "product macs",
    [PRODUCT_WEIGHTS] = "product weights",
    [CONV_TENSORS] = "convolution tensors",
    [CONV_WEIGHTS] = "convolution weights",
    [FRESH_WEIGHTS] = "fresh weights",
    [UPDATED] = "updated",
    [TENSORS] = "tensors",
};

static int class_of_function(int64_t function)
{
    switch ((enum dlt_function)function) {
    case DLT_GELU:
    case DLT_SIGMOID:
    case DLT_TANH:
    case DLT_POW:
    case DLT_SILU:
    case DLT_ELU:
    case DLT_SOFTPLUS:
    case DLT_MISH:
    case DLT_EXP:
    case DLT_LOG:
    case DLT_ERF:
        return HEAVY;
    case DLT_DROPOUT:
        return DROPOUT;
    case DLT_CONCAT:
    case DLT_CAST:
    case DLT_COPY:
        return MOVE;
    default:
        return LIGHT;
    }
}

static int class_of(const struct dlt_record *record)
{
    static const struct {
        const char *begins;
        int class;
    } kinds[] = {{"batch_norm", NORM}, {"group_norm", NORM},    {"layer_norm", NORM},
                 {"rms_norm", NORM},   {"max_pool", POOL},      {"avg_pool", POOL},
                 {"reduction", POOL},  {"upsample", POOL},      {"dense", PRODUCTS},
                 {"bmm", PRODUCTS},    {"rnn", PRODUCTS},       {"gru", PRODUCTS},
                 {"lstm", PRODUCTS},   {"scaled_dot", PRODUCTS}};

    if (strcmp(record->kind->name, "elementwise") == 0)
        return class_of_function(record->u.rowwise.function);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(record->kind->name, kinds[i].begins, strlen(kinds[i].begins)) == 0)
            return kinds[i].class;
    return OTHER;
}

/* glibc's malloc takes blocks above this (DEFAULT_MMAP_THRESHOLD_MAX) from the system anew each
 * time: gradients of such weights, and what a framework reorders them into. */
static const double most_kept_bytes = 32 << 20;

static void add_unit(const struct dlt_record *record, double kernels, double *term)
{
    struct dlt_work work;
    int class;

    dlt_record_work(record, &work);
    if (dlt_is_convolution(record->kind)) {
        term[CONVOLUTIONS] += kernels;
        term[CONV_TENSORS] += work.input + work.output;
        term[CONV_WEIGHTS] += work.weights;
        if (work.weights * (double)dlt_dtype_size(record->dtype) > most_kept_bytes)
            term[FRESH_WEIGHTS] += work.weights;
        return;
    }
    term[KERNELS] += kernels;
    class = class_of(record);
    if (class == PRODUCTS) {
        term[PRODUCTS] += work.macs;
        term[PRODUCT_WEIGHTS] += work.weights;
    } else {
        term[class] += class == POOL ? work.flops : work.bytes;
    }
}

void dlt_table_terms(const struct dlt_plan *plan, double term[DLT_TABLE_PARTS][DLT_TABLE_TERMS])
{
    memset(term, 0, DLT_TABLE_PARTS * sizeof *term);
    for (size_t i = 0; i < plan->unit_count; i++) {
        struct dlt_record record = plan->unit[i].record;

        add_unit(&record, plan->unit[i].forward_kernels, term[DLT_PART_FORWARD]);
        if (dlt_step_backward_pass(&plan->unit[i], &record.pass))
            add_unit(&record, plan->unit[i].backward_kernels, term[DLT_PART_BACKWARD]);
    }
    for (int part = 0; part < DLT_TABLE_PARTS; part++)
        term[part][CONSTANT] = part != DLT_PART_UPDATE || plan->update.kind;
    if (plan->update.kind) {
        term[DLT_PART_UPDATE][UPDATED] =
            (double)plan->update.u.update.elements * dlt_optimizer_touches(plan->update.optimizer);
        term[DLT_PART_UPDATE][TENSORS] = (double)plan->update.u.update.tensors;
    }
}

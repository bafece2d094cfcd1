/*
 * op_row.h - the words in which rows of the operator table are written.
 */
#ifndef DLT_GRAPH_OP_ROW_H
#define DLT_GRAPH_OP_ROW_H

#include "graph/op.h"

/* Kernels, strides and paddings beyond this make no sense, and below it no sum of products of two
 * can overflow. */
#define MOST_WINDOW (INT64_C(1) << 24)
#define MOST_SIZE   INT64_C(2147483647)
#define MOST_INPUTS 1024

#define SLOT(family, field) (offsetof(struct dlt_##family##_attributes, field) / sizeof(int64_t))

/* Sizes: one whole number >= 1. */
#define SIZE(name, family)                                                                         \
    {                                                                                              \
#name, DLT_ATTRIBUTE_INT, SLOT(family, name), true, 0, 1, MOST_SIZE, NULL                  \
    }
/* The same, but it follows from the input; where it is given it has to agree. */
#define AGREES(name, family)                                                                       \
    {                                                                                              \
#name, DLT_ATTRIBUTE_INT, SLOT(family, name), false, DLT_ABSENT, 1, MOST_SIZE, NULL        \
    }
#define COUNT(name, family, fallback)                                                              \
    {                                                                                              \
#name, DLT_ATTRIBUTE_INT, SLOT(family, name), false, fallback, 1, MOST_SIZE, NULL          \
    }
#define AT_LEAST(name, family, fallback, least)                                                    \
    {                                                                                              \
#name, DLT_ATTRIBUTE_INT, SLOT(family, name), false, fallback, least, MOST_SIZE, NULL      \
    }
#define DIM(name, family, fallback)                                                                \
    {                                                                                              \
#name, DLT_ATTRIBUTE_INT, SLOT(family, name), false, fallback, -DLT_RANK, DLT_RANK - 1,    \
            NULL                                                                                   \
    }
#define NEEDED_DIM(name, family)                                                                   \
    {                                                                                              \
#name, DLT_ATTRIBUTE_INT, SLOT(family, name), true, 0, -DLT_RANK, DLT_RANK - 1, NULL       \
    }
#define WINDOW(name, family, required, fallback)                                                   \
    {                                                                                              \
#name, DLT_ATTRIBUTE_LIST, SLOT(family, name), required, fallback, 1, MOST_WINDOW, NULL    \
    }
#define PADDING(family)                                                                            \
    {                                                                                              \
        "padding", DLT_ATTRIBUTE_PADDING, SLOT(family, padding), false, 0, 0, MOST_WINDOW, NULL    \
    }
#define FLAG(name, family, fallback)                                                               \
    {                                                                                              \
#name, DLT_ATTRIBUTE_BOOL, SLOT(family, name), false, fallback, 0, 1, NULL                 \
    }
#define SIZES(name, family, required)                                                              \
    {                                                                                              \
#name, DLT_ATTRIBUTE_SIZES, SLOT(family, name), required, DLT_ABSENT, 1, MOST_SIZE, NULL   \
    }
/* Accepted because torch has it; nothing that dltime computes depends on it. */
#define REAL_IGNORED(name)                                                                         \
    {                                                                                              \
        name, DLT_ATTRIBUTE_REAL, DLT_ATTRIBUTES - 1, false, 0, 0, 0, NULL                         \
    }
#define FLAG_IGNORED(name)                                                                         \
    {                                                                                              \
        name, DLT_ATTRIBUTE_BOOL, DLT_ATTRIBUTES - 1, false, 0, 0, 1, NULL                         \
    }
#define NAME_IGNORED(name, names)                                                                  \
    {                                                                                              \
        name, DLT_ATTRIBUTE_NAME, DLT_ATTRIBUTES - 1, false, 0, 0, 0, names                        \
    }

/* A list of sizes with a lower bound of its own. */
#define SIZES_FROM(name, slot, required, least)                                                    \
    {                                                                                              \
        name, DLT_ATTRIBUTE_SIZES, slot, required, DLT_ABSENT, least, MOST_SIZE, NULL              \
    }
#define NAMED(name, family, fallback, names)                                                       \
    {                                                                                              \
#name, DLT_ATTRIBUTE_NAME, SLOT(family, name), false, fallback, 0, 0, names                \
    }

#define FAMILY(name, rows) const struct dlt_op_family name = {rows, sizeof(rows) / sizeof *(rows)}

#endif

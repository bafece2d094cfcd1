/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/forest.h"

#include <math.h>

int16_t dlt_forest_input(float standardised)
{
    const float most = 7.9f;

    standardised = fminf(fmaxf(standardised, -most), most);
    return (int16_t)lrintf(standardised * DLT_FOREST_UNIT);
}

int32_t dlt_forest_run(const struct dlt_forest_node *node, size_t trees, size_t stride,
                       const int16_t *input)
{
    int32_t sum = 0;

    for (size_t t = 0; t < trees; t++, node += stride) {
        const struct dlt_forest_node *at = node;

        while (at->feature != DLT_FOREST_LEAF)
            at = node + at->next + (input[at->feature] > at->value);
        sum += at->value;
    }
    return sum;
}

bool dlt_forest_is_sound(const struct dlt_forest_node *node, size_t trees, size_t stride,
                         size_t inputs)
{
    if (trees > 0 && stride == 0)
        return false; /* without a node there is no leaf */
    for (size_t t = 0; t < trees; t++, node += stride)
        for (size_t i = 0; i < stride; i++)
            if (node[i].feature != DLT_FOREST_LEAF &&
                (node[i].feature >= inputs || node[i].next <= i ||
                 (size_t)node[i].next + 1 >= stride))
                return false;
    return true;
}

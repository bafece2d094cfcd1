/* SPDX-License-Identifier: Apache-2.0 */
/* How many kernels the optimizer launches. */
#include <math.h>

#include "lower/lower.h"

/* Small kernels of one optimizer step for each tensor: the operations of torch.optim's for-loop. */
static const double update_operations[DLT_OPTIMIZERS] = {
    [DLT_SGD] = 1,     [DLT_MOMENTUM] = 3, [DLT_NESTEROV] = 4, [DLT_ADAM] = 12, [DLT_ADAMW] = 13,
    [DLT_ADAGRAD] = 5, [DLT_ADADELTA] = 9, [DLT_RMSPROP] = 6,  [DLT_LAMB] = 20,
};

double dlt_update_kernels(const struct dlt_record *update)
{
    /* PyTorch's multi_tensor_apply: lists of three tensors take 48 of them and 320 chunks of 65536
     * elements in one launch. */
    double tensors = (double)update->u.update.tensors;
    double elements = (double)update->u.update.elements;
    double launches = fmax(ceil(tensors / 48), ceil(elements / (320.0 * 65536)));

    switch (update->u.update.implementation) {
    case DLT_FUSED:
        return launches;
    case DLT_FOREACH:
        return launches * update_operations[update->optimizer];
    default:
        return tensors * update_operations[update->optimizer];
    }
}

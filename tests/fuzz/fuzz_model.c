/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a model specification: what loads has a graph, counts and a plan at every batch. */
#include "fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_model("model.json", "", data, size);
    return 0;
}

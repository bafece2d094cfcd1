/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an ONNX file. */
#include "fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_model("model.onnx", ",seq=16", data, size);
    return 0;
}

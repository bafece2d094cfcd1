/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an ONNX file.
 *
 * Bytes changed blindly seldom remain a protocol buffer, for each message says how long those in it
 * are. So most changes are made to one field, however deep it lies: taken out, written twice, given
 * another number or word; and the lengths around it are written anew.
 */
#include "fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_model("model.onnx", ",seq=16,batch=3", data, size);
    return 0;
}

/* Operators, attributes and their values: what a node may be turned into. */
static const char *const words[] = {
    "", "Abs", "Add", "And", "ArgMax", "Attention", "AveragePool", "BatchNormalization", "BiasGelu",
    "Cast", "CastLike", "Celu", "Clip", "Concat", "Constant", "ConstantOfShape", "Conv",
    "ConvTranspose", "DepthToSpace", "Div", "Dropout", "Einsum", "Elu", "EmbedLayerNormalization",
    "Equal", "Erf", "Expand", "FastGelu", "Flatten", "FusedGemm", "FusedMatMul", "GRU", "Gather",
    "GatherElements", "GatherND", "Gelu", "Gemm", "GlobalAveragePool", "GlobalMaxPool", "Greater",
    "GroupNorm", "GroupNormalization", "GroupQueryAttention", "HardSigmoid", "HardSwish",
    "Identity", "If", "InstanceNormalization", "LSTM", "LayerNormalization", "LeakyRelu", "Less",
    "LogSoftmax", "Loop", "MatMul", "Max", "MaxPool", "Min", "Mish", "Mod", "Mul",
    "MultiHeadAttention", "Neg", "NonZero", "Not", "OneHot", "Or", "PRelu", "Pad", "Pow", "RMSNorm",
    "RMSNormalization", "RNN", "Range", "Reciprocal", "ReduceMean", "ReduceProd", "ReduceSum",
    "Relu", "Reshape", "Resize", "RotaryEmbedding", "Scan", "ScatterND", "Selu", "Shape", "Sigmoid",
    "Sign", "SimplifiedLayerNormalization", "Size", "SkipLayerNormalization",
    "SkipSimplifiedLayerNormalization", "Slice", "Softmax", "Softplus", "SpaceToDepth", "Split",
    "Sqrt", "Squeeze", "Sub", "Tanh", "Tile", "TopK", "Transpose", "Trilu", "Unsqueeze", "Upsample",
    "Where", "Xor", "com.microsoft", "ai.onnx",
    /* attributes */
    "allowzero", "alpha", "approximate", "auto_pad", "axes", "axis", "batch_dims", "blocksize",
    "body", "ceil_mode", "count_include_pad", "dilations", "direction", "else_branch", "end",
    "epsilon", "equation", "group", "hidden_size", "is_causal", "keepdims", "kernel_shape",
    "kv_num_heads", "layout", "mode", "noop_with_empty_axes", "num_heads", "num_scan_inputs",
    "output_padding", "output_shape", "pads", "perm", "qkv_hidden_sizes", "scales",
    "scan_input_axes", "scan_output_axes", "shape", "start", "steps", "strides", "then_branch",
    "to", "transA", "transB", "value", "value_float", "value_floats", "value_int", "value_ints",
    /* values */
    "SAME_UPPER", "VALID", "bidirectional", "bij,bjk->bik", "i...,...j", "cubic", "edge", "nearest",
    "reflect", "reverse", "tanh", "batch", "N", "seq_len"};

struct span {
    const uint8_t *at;
    size_t size;
};

struct field {
    struct span whole, inside; /* inside: of bytes */
    uint64_t tag;
};

static bool take_varint(struct span *from, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && from->size; shift += 7) {
        uint8_t byte = *from->at++;

        from->size--;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool take_field(struct span *from, struct field *field)
{
    uint64_t size = 0;

    *field = (struct field){.whole.at = from->at};
    if (!take_varint(from, &field->tag) || field->tag < 8)
        return false;
    switch (field->tag % 8) {
    case 0:
        if (!take_varint(from, &size))
            return false;
        size = 0;
        break;
    case 1:
        size = 8;
        break;
    case 2:
        if (!take_varint(from, &size))
            return false;
        break;
    case 5:
        size = 4;
        break;
    default:
        return false;
    }
    if (size > from->size)
        return false;
    field->inside = (struct span){from->at, (size_t)size};
    from->at += size;
    from->size -= (size_t)size;
    field->whole.size = (size_t)(from->at - field->whole.at);
    return true;
}

/* Fields of a message; 0: it is none. */
static unsigned fields_of(struct span message)
{
    struct field field;
    unsigned count = 0;

    while (message.size) {
        if (!take_field(&message, &field))
            return 0;
        count++;
    }
    return count;
}

/* Bytes that are written; too many are left out. */
struct sink {
    uint8_t *at;
    size_t size, room;
};

static void put(struct sink *to, const void *bytes, size_t size)
{
    if (size <= to->room - to->size) {
        memcpy(to->at + to->size, bytes, size);
        to->size += size;
    }
}

static void put_varint(struct sink *to, uint64_t value)
{
    uint8_t byte;

    for (; value >= 0x80; value >>= 7) {
        byte = (uint8_t)(value | 0x80);
        put(to, &byte, 1);
    }
    byte = (uint8_t)value;
    put(to, &byte, 1);
}

static void put_bytes(struct sink *to, uint64_t tag, const void *bytes, size_t size)
{
    if (size + 20 > to->room - to->size)
        return;
    put_varint(to, tag);
    put_varint(to, size);
    put(to, bytes, size);
}

static void put_message(struct sink *to, struct span message, unsigned *state);

static void put_number(struct sink *to, const struct field *field, unsigned *state)
{
    static const int64_t numbers[] = {
        0,  1,  2,       3,        4,          5, 6,  7,   8,   -1,   -2,        12,       16,
        32, 64, 1 << 20, 16777216, 2147483647, 9, 10, 128, 255, 1024, INT64_MAX, INT64_MIN};

    put_varint(to, field->tag);
    put_varint(to, (uint64_t)numbers[fuzz_draw(state, sizeof numbers / sizeof *numbers)]);
}

static void put_changed(struct sink *to, const struct field *field, unsigned *state)
{
    unsigned way = fuzz_draw(state, 8);
    uint8_t *copy;
    size_t size;

    if (field->tag % 8 == 0) {
        put_number(to, field, state);
    } else if (field->tag % 8 == 2 && way < 4) {
        const char *word = words[fuzz_draw(state, sizeof words / sizeof *words)];

        put_bytes(to, field->tag, word, strlen(word));
    } else if (field->tag % 8 == 2) {
        copy = malloc(field->inside.size + 64);
        must(copy);
        memcpy(copy, field->inside.at, field->inside.size);
        size = LLVMFuzzerMutate(copy, field->inside.size, field->inside.size + 64);
        put_bytes(to, field->tag, copy, size);
        free(copy);
    } else {
        uint64_t bits = (uint64_t)fuzz_draw(state, 1 << 24) << fuzz_draw(state, 40);

        put_varint(to, field->tag);
        put(to, &bits, field->tag % 8 == 1 ? 8 : 4);
    }
}

/* One field is changed, taken out, written twice, or looked into. */
static void put_message(struct sink *to, struct span message, unsigned *state)
{
    unsigned chosen = fuzz_draw(state, fields_of(message)), way = fuzz_draw(state, 16);
    struct field field;

    for (unsigned i = 0; take_field(&message, &field); i++) {
        if (i != chosen) {
            put(to, field.whole.at, field.whole.size);
        } else if (field.tag % 8 == 2 && way < 12 && fields_of(field.inside)) {
            struct sink inner = {malloc(to->room), 0, to->room};

            must(inner.at);
            put_message(&inner, field.inside, state);
            put_bytes(to, field.tag, inner.at, inner.size);
            free(inner.at);
        } else if (way == 12 || way == 13) {
            put(to, field.whole.at, field.whole.size);
            put(to, field.whole.at, field.whole.size);
        } else if (way != 14) {
            put_changed(to, &field, state);
        }
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    struct span model = {data, size};
    struct sink to = {NULL, 0, most};

    if (fuzz_draw(&seed, 8) == 0 || fields_of(model) == 0)
        return LLVMFuzzerMutate(data, size, most);
    to.at = malloc(most);
    must(to.at);
    for (unsigned times = 1 + fuzz_draw(&seed, 3); times; times--) {
        to.size = 0;
        put_message(&to, (struct span){data, size}, &seed);
        if (to.size == 0 || fields_of((struct span){to.at, to.size}) == 0)
            break;
        memcpy(data, to.at, to.size);
        size = to.size;
    }
    free(to.at);
    return size;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a model specification: what loads has a graph, counts and a plan at every batch.
 *
 * Blind changes seldom hit upon a word that is known. So some put in a layer of the operator table
 * with attributes of its own, or one of its words in the place of another.
 */
#include "graph/op.h"

#include "fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_model("model.json", ",batch=3", data, size);
    return 0;
}

static const struct dlt_op *any_op(unsigned *state)
{
    return dlt_op_at(fuzz_draw(state, (unsigned)dlt_op_count()));
}

static unsigned attributes_of(const struct dlt_op *op)
{
    unsigned count = 0;

    while (count < DLT_OP_ATTRIBUTES && op->attribute[count].name)
        count++;
    return count;
}

/* A value of the type, or nearly so. */
static size_t write_value(char *to, size_t room, const struct dlt_attribute *attribute,
                          unsigned *state)
{
    static const int numbers[] = {1, 1, 1, 2, 2, 3, 4, 8, 16, 0, -1, 2147483647};
    int a = numbers[fuzz_draw(state, 12)], b = numbers[fuzz_draw(state, 12)];
    size_t names = 0;

    if (attribute->type == DLT_ATTRIBUTE_NAME) {
        while (attribute->names[names])
            names++;
        return (size_t)snprintf(to, room, "\"%s\"",
                                attribute->names[fuzz_draw(state, (unsigned)names)]);
    }
    if (attribute->type == DLT_ATTRIBUTE_BOOL)
        return (size_t)snprintf(to, room, "%s", a > 1 ? "true" : "false");
    if (attribute->type != DLT_ATTRIBUTE_INT && b % 2)
        return (size_t)snprintf(to, room, "[%d, %d]", a, b);
    return (size_t)snprintf(to, room, "%d", a);
}

/* A layer as text, with what it needs and some of what it may have. */
static size_t write_layer(char *to, size_t room, unsigned *state)
{
    static const char *const inputs[] = {"",
                                         ", \"inputs\": [\"@\"]",
                                         ", \"inputs\": [\"@\", \"@\"]",
                                         ", \"inputs\": [\"@\", \"@\", \"@\"]",
                                         ", \"inputs\": [\"x\"]",
                                         ", \"inputs\": [\"x\", \"@\"]"};
    const struct dlt_op *op = any_op(state);
    size_t used = (size_t)snprintf(to, room, "{\"op\": \"%s\"", op->name);

    for (unsigned i = 0; i < attributes_of(op) && used + 128 < room; i++) {
        if (!op->attribute[i].required && fuzz_draw(state, 3))
            continue;
        used += (size_t)snprintf(to + used, room - used, ", \"%s\": ", op->attribute[i].name);
        used += write_value(to + used, room - used, &op->attribute[i], state);
    }
    return used + (size_t)snprintf(to + used, room - used, "%s}, ", inputs[fuzz_draw(state, 6)]);
}

/* Puts text in the place of some bytes; gives the new size, the old one where there is no room. */
static size_t splice(uint8_t *data, size_t size, size_t most, size_t at, size_t away,
                     const char *text, size_t length)
{
    if (size - away + length > most)
        return size;
    memmove(data + at + length, data + at + away, size - at - away);
    memcpy(data + at, text, length);
    return size - away + length;
}

/* Where one of the places begins that look like this; `size` if there is none. */
static size_t find(const uint8_t *data, size_t size, const char *what, unsigned *state)
{
    size_t length = strlen(what), found = size;
    unsigned seen = 0;

    for (size_t at = 0; at + length <= size; at++)
        if (memcmp(data + at, what, length) == 0 && fuzz_draw(state, ++seen) == 0)
            found = at;
    return found;
}

static size_t add_layer(uint8_t *data, size_t size, size_t most, unsigned *state)
{
    size_t at = find(data, size, "{\"op\"", state), length;
    char text[1024];

    if (at == size)
        return size;
    length = write_layer(text, sizeof text, state);
    return splice(data, size, most, at, 0, text, length);
}

static size_t change_word(uint8_t *data, size_t size, size_t most, unsigned *state)
{
    size_t at = find(data, size, "\"", state), end = at + 1;
    const struct dlt_op *op = any_op(state);
    unsigned attribute = fuzz_draw(state, attributes_of(op) + 1);
    const char *word = attribute < attributes_of(op) ? op->attribute[attribute].name : op->name;

    while (end < size && data[end] != '"')
        end++;
    return end >= size ? size : splice(data, size, most, at + 1, end - at - 1, word, strlen(word));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    switch (fuzz_draw(&seed, 6)) {
    case 0:
    case 1:
        return add_layer(data, size, most, &seed);
    case 2:
        return change_word(data, size, most, &seed);
    default:
        return LLVMFuzzerMutate(data, size, most);
    }
}

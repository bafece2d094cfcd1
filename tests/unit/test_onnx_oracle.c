/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of ONNX files against protobuf-c with the distribution's onnx.proto: both read every
 * file of tests/fuzz/seeds/onnx, and files made here, the same. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "graph/onnx_model.h"
#include "onnx_write.h"

#if __has_include("onnx.pb-c.h")
#include "onnx.pb-c.h"

/* Their names, "" for NULL. */
static void same_text(const char *ours, const char *theirs)
{
    assert_string_equal(ours, theirs ? theirs : "");
}

static void same_names(const struct dlt_onnx_names *names, const int *ours, size_t count,
                       char **theirs, size_t their_count)
{
    assert_int_equal(count, their_count);
    for (size_t i = 0; i < count; i++)
        same_text(ours[i] < 0 ? "" : names->text[ours[i]], theirs[i]);
}

static void same_tensor(const struct dlt_onnx_names *names, const struct dlt_onnx_tensor *ours,
                        const Onnx__TensorProto *theirs)
{
    assert_int_equal(ours->rank, theirs->n_dims);
    for (int d = 0; d < ours->rank; d++)
        assert_int_equal(ours->dim[d], theirs->dims[d]);
    assert_int_equal(ours->type, theirs->data_type);
    if (ours->name >= 0)
        same_text(names->text[ours->name], theirs->name);
    if (ours->ints && theirs->has_raw_data && ours->type == DLT_ONNX_INT64)
        assert_memory_equal(ours->ints, theirs->raw_data.data, theirs->raw_data.len);
    if (ours->reals && theirs->has_raw_data && ours->type == DLT_ONNX_FLOAT)
        for (int64_t i = 0; i < ours->count; i++) {
            float value;

            memcpy(&value, theirs->raw_data.data + 4 * i, sizeof value);
            assert_true((float)ours->reals[i] == value || value != value);
        }
}

static void same_graph(const struct dlt_onnx_names *names, const struct dlt_onnx_graph *ours,
                       const Onnx__GraphProto *theirs);

static void same_attribute(const struct dlt_onnx_names *names,
                           const struct dlt_onnx_attribute *ours,
                           const Onnx__AttributeProto *theirs)
{
    same_text(ours->name, theirs->name);
    same_text(ours->reference, theirs->ref_attr_name);
    assert_int_equal(ours->type, theirs->type);
    assert_int_equal(ours->integer, theirs->i);
    assert_true((float)ours->real == theirs->f);
    assert_int_equal(ours->int_count, theirs->n_ints);
    for (size_t i = 0; i < ours->int_count; i++)
        assert_int_equal(ours->ints[i], theirs->ints[i]);
    assert_int_equal(ours->real_count, theirs->n_floats);
    for (size_t i = 0; i < ours->real_count; i++)
        assert_true((float)ours->reals[i] == theirs->floats[i]);
    assert_int_equal(ours->tensor != NULL, theirs->t != NULL);
    if (ours->tensor)
        same_tensor(names, ours->tensor, theirs->t);
    assert_int_equal(ours->graph != NULL, theirs->g != NULL);
    if (ours->graph)
        same_graph(names, ours->graph, theirs->g);
}

static void same_nodes(const struct dlt_onnx_names *names, const struct dlt_onnx_graph *ours,
                       Onnx__NodeProto **theirs, size_t count)
{
    assert_int_equal(ours->node_count, count);
    for (size_t i = 0; i < count; i++) {
        const struct dlt_onnx_node *n = &ours->node[i];

        same_text(n->name, theirs[i]->name);
        same_text(n->op, theirs[i]->op_type);
        same_text(n->domain, theirs[i]->domain);
        same_names(names, n->input, n->input_count, theirs[i]->input, theirs[i]->n_input);
        same_names(names, n->output, n->output_count, theirs[i]->output, theirs[i]->n_output);
        assert_int_equal(n->attribute_count, theirs[i]->n_attribute);
        for (size_t k = 0; k < n->attribute_count; k++)
            same_attribute(names, &n->attribute[k], theirs[i]->attribute[k]);
    }
}

static void same_infos(const struct dlt_onnx_names *names, const struct dlt_onnx_info *ours,
                       size_t count, Onnx__ValueInfoProto **theirs, size_t their_count)
{
    assert_int_equal(count, their_count);
    for (size_t i = 0; i < count; i++) {
        const Onnx__TypeProto__Tensor *tensor =
            theirs[i]->type ? theirs[i]->type->tensor_type : NULL;

        same_text(names->text[ours[i].name], theirs[i]->name);
        assert_int_equal(ours[i].type, tensor ? tensor->elem_type : 0);
        assert_int_equal(ours[i].rank, tensor && tensor->shape ? (int)tensor->shape->n_dim : -1);
        for (int d = 0; d < ours[i].rank; d++) {
            const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[d];

            if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
                same_text(ours[i].dim[d].param, dim->dim_param);
            else
                assert_int_equal(ours[i].dim[d].value, dim->dim_value > 0 ? dim->dim_value : -1);
        }
    }
}

static void same_graph(const struct dlt_onnx_names *names, const struct dlt_onnx_graph *ours,
                       const Onnx__GraphProto *theirs)
{
    same_text(ours->name, theirs->name);
    same_nodes(names, ours, theirs->node, theirs->n_node);
    assert_int_equal(ours->initializer_count, theirs->n_initializer);
    for (size_t i = 0; i < ours->initializer_count; i++)
        same_tensor(names, &ours->initializer[i], theirs->initializer[i]);
    same_infos(names, ours->input, ours->input_count, theirs->input, theirs->n_input);
    same_infos(names, ours->output, ours->output_count, theirs->output, theirs->n_output);
    same_infos(names, ours->value, ours->value_count, theirs->value_info, theirs->n_value_info);
}

static void same_file(const char *path)
{
    struct dlt_onnx_model *ours;
    struct dlt_error error;
    struct stat status;
    Onnx__ModelProto *theirs;
    uint8_t *data;
    int fd = open(path, O_RDONLY);

    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    data = malloc((size_t)status.st_size + 1);
    assert_int_equal(pread(fd, data, (size_t)status.st_size, 0), status.st_size);
    theirs = onnx__model_proto__unpack(NULL, (size_t)status.st_size, data);
    assert_non_null(theirs);
    if (dlt_onnx_read(fd, status.st_size, &ours, &error))
        fail_msg("%s: %s", path, error.text);
    same_graph(&ours->names, &ours->graph, theirs->graph);
    assert_int_equal(ours->function_count, theirs->n_functions);
    for (size_t i = 0; i < ours->function_count; i++) {
        const struct dlt_onnx_function *fn = &ours->function[i];

        same_text(fn->name, theirs->functions[i]->name);
        same_names(&fn->names, fn->input, fn->input_count, theirs->functions[i]->input,
                   theirs->functions[i]->n_input);
        same_nodes(&fn->names, &fn->graph, theirs->functions[i]->node,
                   theirs->functions[i]->n_node);
    }
    dlt_onnx_destroy(ours);
    onnx__model_proto__free_unpacked(theirs, NULL);
    free(data);
    close(fd);
}

static void both_read_every_seed_the_same(void **state)
{
    DIR *stream = opendir("tests/fuzz/seeds/onnx");
    const struct dirent *entry;
    size_t files = 0;
    char path[512];

    (void)state;
    if (!stream)
        skip(); /* run from elsewhere than the source tree */
    while ((entry = readdir(stream))) {
        if (*entry->d_name == '.')
            continue;
        snprintf(path, sizeof path, "tests/fuzz/seeds/onnx/%s", entry->d_name);
        same_file(path);
        files++;
    }
    closedir(stream);
    assert_true(files >= 8);
}

static void check_bytes(struct onnx_bytes *bytes)
{
    char path[] = "/tmp/dltime-oracle-XXXXXX";
    int fd = mkstemp(path);

    assert_int_equal(write(fd, bytes->data, bytes->size), (ssize_t)bytes->size);
    close(fd);
    free(bytes->data);
    same_file(path);
    unlink(path);
}

/* Numbers packed and one by one, fields out of order, functions, branches, what is not known. */
static void both_read_odd_encodings_the_same(void **state)
{
    static const float floats[] = {1.5F, -2};
    struct onnx_bytes g = {0}, model, node = {0}, attribute = {0}, list = {0}, function = {0};
    struct onnx_bytes inner = {0};

    (void)state;
    onnx_input(&g, "x", 1, -1, 3, -2, -3);
    onnx_text(&attribute, 1, "packed");
    for (int64_t i = -1; i < 3; i++)
        onnx_varint(&list, (uint64_t)i << 40);
    onnx_put(&attribute, 8, &list);
    onnx_data(&attribute, 7, floats, sizeof floats);
    onnx_int(&attribute, 20, 7);
    onnx_text(&node, 4, "Odd");
    onnx_put(&node, 5, &attribute);
    onnx_text(&node, 2, "y");
    onnx_text(&node, 1, "x");
    onnx_text(&node, 99, "of a later version");
    onnx_int(&node, 98, -1);
    onnx_put(&g, 1, &node);
    onnx_node(&inner, "Relu", "x", "z", "");
    onnx_text(&attribute, 1, "body");
    onnx_put(&attribute, 6, &inner);
    onnx_text(&node, 4, "Loop");
    onnx_put(&node, 5, &attribute);
    onnx_put(&g, 1, &node);
    onnx_value(&g, 13, "y", 1, (const int64_t[]){2, 3, 0});
    model = onnx_model(&g, 17);
    onnx_text(&function, 1, "F");
    onnx_text(&function, 4, "a");
    node = onnx_node_bytes("Add", "a a", "b", "");
    onnx_put(&function, 7, &node);
    onnx_text(&function, 5, "b");
    onnx_put(&model, 25, &function);
    check_bytes(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_read_every_seed_the_same),
        cmocka_unit_test(both_read_odd_encodings_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void both_read_every_file_the_same(void **state)
{
    (void)state;
    print_message("built without protobuf-c and the distribution's onnx.proto\n");
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_read_every_file_the_same)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TENSORS = 48, MOST_OPERATIONS = 40, MOST_ENGINES = 16, ALIGNMENT = 16 };

/* A tensor that has memory: in a buffer, or a number. */
struct binding {
    int64_t id;
    const struct bench_buffer *buffer; /* NULL: the number */
    float number;
};

/* The pointers of one copy. */
struct pack {
    cudnnBackendDescriptor_t descriptor;
    char *workspace;
};

struct bench_graph {
    struct bench_context *context;
    struct dlt_error *error;
    int status; /* of the first call that failed */
    int tensors, bindings, operations;
    struct binding binding[MOST_TENSORS];
    cudnnBackendDescriptor_t operation[MOST_OPERATIONS];
    cudnnBackendDescriptor_t plan;
    int64_t engine, workspace; /* cuDNN's number for it; bytes */
    struct pack *pack;
    int packs;
};

static void destroy(void *object)
{
    (void)cudnnBackendDestroyDescriptor(object);
}

static bool check(struct bench_graph *graph, cudnnStatus_t status, const char *what)
{
    if (graph->status == BENCH_OK)
        graph->status = bench_cudnn(status, what, graph->error);
    return graph->status == BENCH_OK;
}

static cudnnBackendDescriptor_t begin(struct bench_graph *graph, cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t made = NULL;

    if (graph->status ||
        !check(graph, cudnnBackendCreateDescriptor(type, &made), "a graph's descriptor"))
        return NULL;
    if (bench_own(&graph->context->owned, made, destroy, graph->error)) {
        graph->status = BENCH_NO_MEMORY;
        return NULL;
    }
    return made;
}

static void set(struct bench_graph *graph, cudnnBackendDescriptor_t descriptor,
                cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                const void *values)
{
    if (graph->status == BENCH_OK)
        check(graph, cudnnBackendSetAttribute(descriptor, name, type, count, values),
              "a graph's attribute");
}

static void refer(struct bench_graph *graph, cudnnBackendDescriptor_t descriptor,
                  cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t other)
{
    set(graph, descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other);
}

static void finish(struct bench_graph *graph, cudnnBackendDescriptor_t descriptor, const char *what)
{
    if (graph->status == BENCH_OK)
        check(graph, cudnnBackendFinalize(descriptor), what);
}

struct bench_graph *bench_graph_create(struct bench_context *context, struct dlt_error *error)
{
    struct bench_graph *made = bench_own_zeroed(&context->owned, 1, sizeof *made, error);

    if (made) {
        made->context = context;
        made->error = error;
    }
    return made;
}

/* ---- tensors ---- */

struct bench_graph_place bench_graph_rows(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return (struct bench_graph_place){{a, b, c, d}, {b * c * d, c * d, d, 1}};
}

struct bench_graph_place bench_graph_transposed(const struct bench_graph_place *place)
{
    return (struct bench_graph_place){
        {place->dim[0], place->dim[1], place->dim[3], place->dim[2]},
        {place->stride[0], place->stride[1], place->stride[3], place->stride[2]}};
}

static cudnnBackendDescriptor_t begin_tensor(struct bench_graph *graph, cudnnDataType_t type,
                                             const struct bench_graph_place *place)
{
    cudnnBackendDescriptor_t tensor = begin(graph, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const int64_t id = ++graph->tensors, alignment = ALIGNMENT;

    set(graph, tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
    set(graph, tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    set(graph, tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(graph, tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, BENCH_GRAPH_RANK,
        place->dim);
    set(graph, tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, BENCH_GRAPH_RANK,
        place->stride);
    return tensor;
}

/* The latest tensor's memory. */
static void bind(struct bench_graph *graph, const struct bench_buffer *buffer, float number)
{
    if (graph->bindings == MOST_TENSORS) {
        graph->status = dlt_fail(graph->error, "a graph of more than %d arrays", MOST_TENSORS);
        return;
    }
    graph->binding[graph->bindings++] = (struct binding){graph->tensors, buffer, number};
}

bench_graph_tensor bench_graph_array(struct bench_graph *graph, const struct bench_buffer *buffer,
                                     const struct bench_graph_place *place)
{
    bench_graph_tensor tensor = begin_tensor(graph, bench_cudnn_type(buffer->type), place);

    finish(graph, tensor, "a graph's array");
    bind(graph, buffer, 0);
    return tensor;
}

bench_graph_tensor bench_graph_number(struct bench_graph *graph, float value)
{
    const struct bench_graph_place one = bench_graph_rows(1, 1, 1, 1);
    bench_graph_tensor tensor = begin_tensor(graph, CUDNN_DATA_FLOAT, &one);
    const bool by_value = true;

    set(graph, tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value);
    finish(graph, tensor, "a graph's number");
    bind(graph, NULL, value);
    return tensor;
}

bench_graph_tensor bench_graph_between(struct bench_graph *graph, cudnnDataType_t type,
                                       const struct bench_graph_place *place)
{
    bench_graph_tensor tensor = begin_tensor(graph, type, place);
    const bool is_virtual = true;

    set(graph, tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
    finish(graph, tensor, "a graph's inner tensor");
    return tensor;
}

/* ---- operations ---- */

static void end_operation(struct bench_graph *graph, cudnnBackendDescriptor_t operation)
{
    finish(graph, operation, "a graph's operation");
    if (graph->status)
        return;
    if (graph->operations == MOST_OPERATIONS)
        graph->status =
            dlt_fail(graph->error, "a graph of more than %d operations", MOST_OPERATIONS);
    else
        graph->operation[graph->operations++] = operation;
}

void bench_graph_matmul(struct bench_graph *graph, bench_graph_tensor a, bench_graph_tensor b,
                        bench_graph_tensor c)
{
    cudnnBackendDescriptor_t product = begin(graph, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    const cudnnDataType_t sums = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t operation;

    set(graph, product, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums);
    finish(graph, product, "a graph's product");
    operation = begin(graph, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    refer(graph, operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    refer(graph, operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    refer(graph, operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
    refer(graph, operation, CUDNN_ATTR_OPERATION_MATMUL_DESC, product);
    end_operation(graph, operation);
}

void bench_graph_point(struct bench_graph *graph, const struct bench_graph_pointwise *point)
{
    cudnnBackendDescriptor_t how = begin(graph, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    cudnnBackendDescriptor_t operation;

    set(graph, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &point->mode);
    set(graph, how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &point->precision);
    if (point->mode == CUDNN_POINTWISE_GEN_INDEX)
        set(graph, how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &point->axis);
    finish(graph, how, "a graph's elementwise function");
    operation = begin(graph, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    refer(graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    refer(graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, point->x);
    refer(graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, point->y);
    if (point->other)
        refer(graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, point->other);
    if (point->mask)
        refer(graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, point->mask);
    end_operation(graph, operation);
}

void bench_graph_reduce(struct bench_graph *graph, cudnnReduceTensorOp_t how, bench_graph_tensor x,
                        bench_graph_tensor y)
{
    cudnnBackendDescriptor_t reduction = begin(graph, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    const cudnnDataType_t sums = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t operation;

    set(graph, reduction, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums);
    set(graph, reduction, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1,
        &how);
    finish(graph, reduction, "a graph's reduction");
    operation = begin(graph, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    refer(graph, operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    refer(graph, operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    refer(graph, operation, CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction);
    end_operation(graph, operation);
}

void bench_graph_reshape(struct bench_graph *graph, bench_graph_tensor x, bench_graph_tensor y)
{
    cudnnBackendDescriptor_t operation = begin(graph, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);

    refer(graph, operation, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    refer(graph, operation, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
    end_operation(graph, operation);
}

/* ---- engines ---- */

static cudnnBackendDescriptor_t describe_device(struct bench_graph *graph)
{
    cudnnBackendDescriptor_t device = begin(graph, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);

    set(graph, device, CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, &graph->context->cudnn);
    finish(graph, device, "the device for a graph");
    return device;
}

/* Which engines the heuristics would take, the best first. */
static int list_engines(struct bench_graph *graph, cudnnBackendDescriptor_t *engine)
{
    cudnnBackendDescriptor_t device = describe_device(graph);
    cudnnBackendDescriptor_t all = begin(graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    cudnnBackendDescriptor_t heuristics;
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    int64_t count = 0;

    set(graph, all, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, graph->operations,
        graph->operation);
    finish(graph, all, "a graph of operations");
    heuristics = begin(graph, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    refer(graph, heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, all);
    set(graph, heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    refer(graph, heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device);
    finish(graph, heuristics, "engines for a graph");
    for (int i = 0; i < MOST_ENGINES; i++)
        engine[i] = begin(graph, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (graph->status == BENCH_OK)
        check(graph,
              cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, MOST_ENGINES, &count, engine),
              "engines for a graph");
    return graph->status ? 0 : (int)(count < MOST_ENGINES ? count : MOST_ENGINES);
}

/* An engine that cannot run the graph after all is no failure: false. */
static bool try_engine(struct bench_graph *graph, cudnnBackendDescriptor_t engine)
{
    cudnnBackendDescriptor_t plan = begin(graph, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    int64_t count;

    refer(graph, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine);
    if (graph->status || cudnnBackendFinalize(plan) != CUDNN_STATUS_SUCCESS ||
        !check(graph,
               cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                        CUDNN_TYPE_INT64, 1, &count, &graph->workspace),
               "an engine's workspace") ||
        (double)graph->workspace > graph->context->workspace_cap)
        return false;
    graph->plan = plan;
    return true;
}

static void note_engine(struct bench_graph *graph, cudnnBackendDescriptor_t configuration)
{
    cudnnBackendDescriptor_t engine = begin(graph, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    int64_t count;

    graph->engine = -1;
    if (engine && cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
                                           CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                                           &engine) == CUDNN_STATUS_SUCCESS)
        (void)cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                                       &count, &graph->engine);
}

int bench_graph_finish(struct bench_graph *graph, struct dlt_error *error)
{
    cudnnBackendDescriptor_t engine[MOST_ENGINES];
    int count;

    graph->error = error;
    count = list_engines(graph, engine);
    for (int i = 0; i < count && graph->status == BENCH_OK; i++)
        if (try_engine(graph, engine[i])) {
            note_engine(graph, engine[i]);
            return graph->status;
        }
    if (graph->status)
        return graph->status;
    dlt_fail(error, "cuDNN has no engine for this graph within %.0f MiB of workspace",
             graph->context->workspace_cap / 1048576);
    return BENCH_UNSUPPORTED;
}

/* ---- running ---- */

void bench_graph_bind(struct bench_graph *graph, const struct bench_buffer *place,
                      const struct bench_buffer *buffer)
{
    for (int i = 0; i < graph->bindings; i++)
        if (graph->binding[i].buffer == place)
            graph->binding[i].buffer = buffer;
}

static int make_pack(struct bench_graph *graph, int copy, struct pack *pack)
{
    void *pointer[MOST_TENSORS];
    int64_t id[MOST_TENSORS];
    char *workspace = graph->context->workspace;

    for (int i = 0; i < graph->bindings; i++) {
        struct binding *binding = &graph->binding[i];

        id[i] = binding->id;
        pointer[i] =
            binding->buffer ? bench_buffer_data(binding->buffer, copy) : (void *)&binding->number;
    }
    pack->workspace = workspace;
    pack->descriptor = begin(graph, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    set(graph, pack->descriptor, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
        graph->bindings, id);
    set(graph, pack->descriptor, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
        graph->bindings, pointer);
    set(graph, pack->descriptor, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
        &workspace);
    finish(graph, pack->descriptor, "a graph's pointers");
    return graph->status;
}

/* Of all copies at once, when the first is run or the workspace has moved, so that no measurement
 * pays for the others'. */
static int make_packs(struct bench_graph *graph)
{
    for (int copy = 0; copy < graph->packs; copy++)
        if (make_pack(graph, copy, &graph->pack[copy]))
            return graph->status;
    return BENCH_OK;
}

static int run_graph(struct bench_context *context, const void *what, int copy,
                     struct dlt_error *error)
{
    struct bench_graph *graph = *(struct bench_graph *const *)what;
    struct pack *pack = &graph->pack[copy % graph->packs];

    graph->error = error;
    if ((!pack->descriptor || pack->workspace != context->workspace) && make_packs(graph))
        return graph->status;
    return bench_cudnn(cudnnBackendExecute(context->cudnn, graph->plan, pack->descriptor),
                       "a graph", error);
}

int bench_graph_try(struct bench_graph *graph, struct dlt_error *error)
{
    struct bench_context *context = graph->context;
    struct pack pack = {.descriptor = NULL};
    int status = bench_workspace(context, (size_t)graph->workspace, error);

    graph->error = error;
    if (status == BENCH_OK)
        status = make_pack(graph, 0, &pack);
    if (status == BENCH_OK)
        status = bench_cudnn(cudnnBackendExecute(context->cudnn, graph->plan, pack.descriptor),
                             "a graph", error);
    return status ? status : bench_cuda(cudaStreamSynchronize(context->stream), "a graph", error);
}

int bench_graph_add(struct bench_layer *layer, enum dlt_pass pass, struct bench_graph *graph,
                    struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    struct bench_choice *choice = &layer->program[pass].choice;
    struct bench_graph **step = bench_own_zeroed(&context->owned, 1, sizeof(void *), error);
    const struct bench_buffer *buffer[MOST_TENSORS];
    int status;

    graph->packs = layer->copies;
    graph->pack =
        bench_own_zeroed(&context->owned, (size_t)graph->packs, sizeof *graph->pack, error);
    if (!step || !graph->pack)
        return BENCH_NO_MEMORY;
    *step = graph;
    status = bench_workspace(context, (size_t)graph->workspace, error);
    snprintf(choice->algorithm, sizeof choice->algorithm, "cudnn_graph_%lld",
             (long long)graph->engine);
    choice->workspace_bytes = (double)graph->workspace;
    choice->workspace_cap_bytes = context->workspace_cap;
    for (int i = 0; i < graph->bindings; i++)
        buffer[i] = graph->binding[i].buffer;
    return status ? status
                  : bench_add(layer, pass, run_graph, step,
                              (struct bench_uses){(size_t)graph->bindings, buffer}, error);
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * cuDNN's graph API on the device on the host. The library itself builds graphs and finds engines,
 * for an H100 whose properties it is given in place of a device; what an engine would compute is
 * computed here from the operations that were described. Comes before the library in the link.
 */
#include <cudnn.h>
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "half.h"

/* NVIDIA's H100 SXM5: CUDA C++ Programming Guide, "Compute Capabilities", and its data sheet. */
static const char h100[] =
    "{\"deviceVer\":900,\"driverVer\":13000,\"cudaDeviceId\":0,\"maxGridSize\":[2147483647,65535,"
    "65535],\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,\"multiProcessorCount\":132,"
    "\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":232448,"
    "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":32,"
    "\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"pciDeviceId\":1,\"isTccDriver\":0,"
    "\"supportCoopLaunch\":1,\"smClockRateKHz\":1980000,\"memClockRateKHz\":2619000,"
    "\"l2CacheSize\":52428800,\"totalGlobalMem\":85000000000,\"deviceName\":\"H100\"}";

/* ---- what descriptors were given ---- */

enum { RANK = 4 };

struct note {
    cudnnBackendDescriptor_t of;
    cudnnBackendAttributeName_t name;
    int64_t count;
    char *bytes;
};
static struct note *notes;
static size_t note_count;

static void forget(cudnnBackendDescriptor_t of)
{
    size_t kept = 0;

    for (size_t i = 0; i < note_count; i++)
        if (notes[i].of == of)
            free(notes[i].bytes);
        else
            notes[kept++] = notes[i];
    note_count = kept;
}

static void remember(cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name, int64_t count,
                     const void *values, size_t size)
{
    struct note *note;

    notes = realloc(notes, (note_count + 1) * sizeof *notes);
    if (!notes)
        abort();
    note = &notes[note_count++];
    *note = (struct note){of, name, count, malloc((size_t)count * size + 1)};
    if (!note->bytes)
        abort();
    memcpy(note->bytes, values, (size_t)count * size);
}

/* NULL: was not given. */
static const void *recall(cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                          int64_t *count)
{
    for (size_t i = 0; i < note_count; i++)
        if (notes[i].of == of && notes[i].name == name) {
            if (count)
                *count = notes[i].count;
            return notes[i].bytes;
        }
    return NULL;
}

static cudnnBackendDescriptor_t reference(cudnnBackendDescriptor_t of,
                                          cudnnBackendAttributeName_t name)
{
    cudnnBackendDescriptor_t found = NULL;
    const void *bytes = recall(of, name, NULL);

    if (bytes)
        memcpy(&found, bytes, sizeof found);
    return found;
}

static int number(cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name)
{
    int found = -1;
    const void *bytes = recall(of, name, NULL);

    if (bytes)
        memcpy(&found, bytes, sizeof found);
    return found;
}

/* 0: nothing that is computed with. */
static size_t size_of(cudnnBackendAttributeType_t type)
{
    switch (type) {
    case CUDNN_TYPE_INT64:
        return sizeof(int64_t);
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
        return sizeof(void *);
    case CUDNN_TYPE_DATA_TYPE:
    case CUDNN_TYPE_POINTWISE_MODE:
    case CUDNN_TYPE_REDUCTION_OPERATOR_TYPE:
        return sizeof(int);
    case CUDNN_TYPE_BOOLEAN:
        return sizeof(bool);
    default:
        return 0;
    }
}

#define LIBRARY(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
    forget(descriptor);
    return LIBRARY(cudnnBackendDestroyDescriptor)(descriptor);
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void *values)
{
    if (name == CUDNN_ATTR_DEVICEPROP_HANDLE)
        return LIBRARY(cudnnBackendSetAttribute)(descriptor,
                                                 CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                                 CUDNN_TYPE_CHAR, sizeof h100 - 1, h100);
    if (size_of(type) > 0)
        remember(descriptor, name, count, values, size_of(type));
    return LIBRARY(cudnnBackendSetAttribute)(descriptor, name, type, count, values);
}

/* An engine's configuration stands for the graph that its heuristics were asked for. */
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t wanted,
                                       int64_t *count, void *values)
{
    cudnnStatus_t status =
        LIBRARY(cudnnBackendGetAttribute)(descriptor, name, type, wanted, count, values);

    if (status == CUDNN_STATUS_SUCCESS && name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
        cudnnBackendDescriptor_t all = reference(descriptor, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);

        for (int64_t i = 0; i < *count && i < wanted; i++)
            remember(((cudnnBackendDescriptor_t *)values)[i], CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                     1, &all, sizeof(void *));
    }
    return status;
}

/* ---- tensors' elements ---- */

struct tensor {
    cudnnBackendDescriptor_t descriptor;
    cudnnDataType_t type;
    int64_t dim[RANK], stride[RANK], count;
    void *memory;  /* NULL: the graph's own */
    double *value; /* by place in memory, in the type's precision */
};
struct arrays {
    struct tensor tensor[64];
    int count;
    cudnnBackendDescriptor_t pack;
};

static char *memory_of(cudnnBackendDescriptor_t tensor, cudnnBackendDescriptor_t pack)
{
    int64_t count = 0, id;
    const int64_t *ids = recall(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, &count);
    char *const *pointer = recall(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, NULL);

    memcpy(&id, recall(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, NULL), sizeof id);
    for (int64_t i = 0; i < count; i++)
        if (ids[i] == id)
            return pointer[i];
    return NULL;
}

static double rounded(cudnnDataType_t type, double value)
{
    unsigned bits = bench_bits_of((float)value);

    if (type == CUDNN_DATA_HALF)
        return (double)bench_half_value(bench_half_bits((float)value));
    if (type == CUDNN_DATA_BFLOAT16)
        return (double)bench_bfloat_value(
            (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16));
    return type == CUDNN_DATA_FLOAT ? (double)(float)value : value;
}

static double load(const struct tensor *t, int64_t i)
{
    if (t->type == CUDNN_DATA_HALF)
        return (double)bench_half_value(((const unsigned short *)t->memory)[i]);
    if (t->type == CUDNN_DATA_BFLOAT16)
        return (double)bench_bfloat_value(((const unsigned short *)t->memory)[i]);
    return (double)((const float *)t->memory)[i];
}

static void store(const struct tensor *t, int64_t i)
{
    float value = (float)t->value[i];

    if (t->type == CUDNN_DATA_HALF)
        ((unsigned short *)t->memory)[i] = bench_half_bits(value);
    else if (t->type == CUDNN_DATA_BFLOAT16)
        ((unsigned short *)t->memory)[i] = (unsigned short)(bench_bits_of(value) >> 16);
    else
        ((float *)t->memory)[i] = value;
}

static struct tensor *tensor_of(struct arrays *all, cudnnBackendDescriptor_t operation,
                                cudnnBackendAttributeName_t name)
{
    cudnnBackendDescriptor_t descriptor = reference(operation, name);
    struct tensor *t;

    if (!descriptor)
        return NULL;
    for (int i = 0; i < all->count; i++)
        if (all->tensor[i].descriptor == descriptor)
            return &all->tensor[i];
    t = &all->tensor[all->count++];
    *t = (struct tensor){.descriptor = descriptor, .count = 1};
    t->type = (cudnnDataType_t)number(descriptor, CUDNN_ATTR_TENSOR_DATA_TYPE);
    memcpy(t->dim, recall(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, NULL), sizeof t->dim);
    memcpy(t->stride, recall(descriptor, CUDNN_ATTR_TENSOR_STRIDES, NULL), sizeof t->stride);
    for (int d = 0; d < RANK; d++)
        t->count *= t->dim[d];
    t->memory = memory_of(descriptor, all->pack);
    t->value = calloc((size_t)t->count, sizeof *t->value);
    if (!t->value)
        abort();
    for (int64_t i = 0; t->memory && i < t->count; i++)
        t->value[i] = load(t, i);
    return t;
}

/* The element at a place of a tensor of those dimensions; it is broadcast where it has one. */
static double *at(const struct tensor *t, const int64_t place[RANK])
{
    int64_t index = 0;

    for (int d = 0; d < RANK; d++)
        index += t->dim[d] == 1 ? 0 : place[d] * t->stride[d];
    return &t->value[index];
}

static void place_of(const struct tensor *t, int64_t i, int64_t place[RANK])
{
    for (int d = RANK - 1; d >= 0; d--) {
        place[d] = i % t->dim[d];
        i /= t->dim[d];
    }
}

static void end_tensor(const struct tensor *t)
{
    for (int64_t i = 0; i < t->count; i++) {
        t->value[i] = rounded(t->type, t->value[i]);
        if (t->memory)
            store(t, i);
    }
}

/* ---- operations; each returns whether it is one of its kind ---- */

static bool multiply(struct arrays *all, cudnnBackendDescriptor_t operation)
{
    const struct tensor *a = tensor_of(all, operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    const struct tensor *b = tensor_of(all, operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    const struct tensor *c = tensor_of(all, operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC);

    if (!a)
        return false;
    if (a->dim[3] != b->dim[2] || a->dim[2] != c->dim[2] || b->dim[3] != c->dim[3])
        abort();
    for (int64_t i = 0; i < c->count; i++) {
        int64_t place[RANK], left[RANK], right[RANK];
        double sum = 0;

        place_of(c, i, place);
        memcpy(left, place, sizeof left);
        memcpy(right, place, sizeof right);
        for (left[3] = right[2] = 0; left[3] < a->dim[3]; right[2] = ++left[3])
            sum += *at(a, left) * *at(b, right);
        *at(c, place) = sum;
    }
    end_tensor(c);
    return true;
}

static double function(cudnnPointwiseMode_t mode, double x, double other, double mask)
{
    switch (mode) {
    case CUDNN_POINTWISE_ADD:
        return x + other;
    case CUDNN_POINTWISE_SUB:
        return x - other;
    case CUDNN_POINTWISE_MUL:
        return x * other;
    case CUDNN_POINTWISE_DIV:
        return x / other;
    case CUDNN_POINTWISE_EXP:
        return exp(x);
    case CUDNN_POINTWISE_LOG:
        return log(x);
    case CUDNN_POINTWISE_IDENTITY:
        return x;
    case CUDNN_POINTWISE_CMP_GE:
        return x >= other;
    case CUDNN_POINTWISE_BINARY_SELECT:
        return mask > 0 ? x : other;
    default:
        abort();
    }
}

static bool point(struct arrays *all, cudnnBackendDescriptor_t operation)
{
    const struct tensor *x = tensor_of(all, operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    const struct tensor *b = tensor_of(all, operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    const struct tensor *t = tensor_of(all, operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
    const struct tensor *y = tensor_of(all, operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    cudnnBackendDescriptor_t how =
        reference(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    cudnnPointwiseMode_t mode;
    int64_t axis = 0;

    if (!x)
        return false;
    mode = (cudnnPointwiseMode_t)number(how, CUDNN_ATTR_POINTWISE_MODE);
    if (mode == CUDNN_POINTWISE_GEN_INDEX)
        memcpy(&axis, recall(how, CUDNN_ATTR_POINTWISE_AXIS, NULL), sizeof axis);
    for (int64_t i = 0; i < y->count; i++) {
        int64_t place[RANK];

        place_of(y, i, place);
        *at(y, place) =
            mode == CUDNN_POINTWISE_GEN_INDEX
                ? (double)place[axis]
                : function(mode, *at(x, place), b ? *at(b, place) : 0, t ? *at(t, place) : 0);
    }
    end_tensor(y);
    return true;
}

static bool reduce(struct arrays *all, cudnnBackendDescriptor_t operation)
{
    const struct tensor *x = tensor_of(all, operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
    const struct tensor *y = tensor_of(all, operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    bool most;

    if (!x)
        return false;
    most = number(reference(operation, CUDNN_ATTR_OPERATION_REDUCTION_DESC),
                  CUDNN_ATTR_REDUCTION_OPERATOR) == CUDNN_REDUCE_TENSOR_MAX;
    for (int64_t i = 0; i < y->count; i++)
        y->value[i] = most ? -INFINITY : 0;
    for (int64_t i = 0; i < x->count; i++) {
        int64_t place[RANK];
        double *sum;

        place_of(x, i, place);
        sum = at(y, place);
        *sum = most ? fmax(*sum, *at(x, place)) : *sum + *at(x, place);
    }
    end_tensor(y);
    return true;
}

/* The same memory, seen in y's dimensions and strides. */
static bool reshape(struct arrays *all, cudnnBackendDescriptor_t operation)
{
    const struct tensor *x = tensor_of(all, operation, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
    const struct tensor *y = tensor_of(all, operation, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);

    if (!x)
        return false;
    memcpy(y->value, x->value, (size_t)y->count * sizeof *y->value);
    end_tensor(y);
    return true;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack)
{
    static bool (*const kinds[])(struct arrays *, cudnnBackendDescriptor_t) = {multiply, point,
                                                                               reduce, reshape};
    cudnnBackendDescriptor_t engine = reference(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    struct arrays all = {.pack = pack};
    int64_t count = 0;
    const cudnnBackendDescriptor_t *operation =
        recall(reference(engine, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH),
               CUDNN_ATTR_OPERATIONGRAPH_OPS, &count);

    (void)handle;
    for (int64_t i = 0; i < count; i++) {
        bool known = false;

        for (size_t k = 0; !known && k < sizeof kinds / sizeof *kinds; k++)
            known = kinds[k](&all, operation[i]);
        if (!known)
            abort();
    }
    for (int i = 0; i < all.count; i++)
        free(all.tensor[i].value);
    return CUDNN_STATUS_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Output sizes of convolutions, transposed convolutions and pools against cuDNN's output-dimension
 * functions, which need no device. Thousands of random attribute sets. */
#include "shapes.h"

#ifdef CUDNN_LIB
#include <cudnn.h>
#include <dlfcn.h>

enum { SETS = 6000, LEAST_RANK = 4 }; /* cuDNN has no arrays of one spatial dimension */

/* The library is opened at run time from the folder that the build found; what it opens itself lies
 * beside it. */
static struct {
    __typeof__(cudnnCreateTensorDescriptor) *create_tensor;
    __typeof__(cudnnSetTensorNdDescriptor) *set_tensor;
    __typeof__(cudnnCreateFilterDescriptor) *create_filter;
    __typeof__(cudnnSetFilterNdDescriptor) *set_filter;
    __typeof__(cudnnCreateConvolutionDescriptor) *create_convolution;
    __typeof__(cudnnSetConvolutionNdDescriptor) *set_convolution;
    __typeof__(cudnnSetConvolutionGroupCount) *set_groups;
    __typeof__(cudnnGetConvolutionNdForwardOutputDim) *convolution_output;
    __typeof__(cudnnCreatePoolingDescriptor) *create_pool;
    __typeof__(cudnnSetPoolingNdDescriptor) *set_pool;
    __typeof__(cudnnGetPoolingNdForwardOutputDim) *pool_output;
} cudnn;

static struct {
    cudnnTensorDescriptor_t tensor;
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t convolution;
    cudnnPoolingDescriptor_t pool;
} made;

static int open_library(void **state)
{
    static const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"cudnnCreateTensorDescriptor", &cudnn.create_tensor},
        {"cudnnSetTensorNdDescriptor", &cudnn.set_tensor},
        {"cudnnCreateFilterDescriptor", &cudnn.create_filter},
        {"cudnnSetFilterNdDescriptor", &cudnn.set_filter},
        {"cudnnCreateConvolutionDescriptor", &cudnn.create_convolution},
        {"cudnnSetConvolutionNdDescriptor", &cudnn.set_convolution},
        {"cudnnSetConvolutionGroupCount", &cudnn.set_groups},
        {"cudnnGetConvolutionNdForwardOutputDim", &cudnn.convolution_output},
        {"cudnnCreatePoolingDescriptor", &cudnn.create_pool},
        {"cudnnSetPoolingNdDescriptor", &cudnn.set_pool},
        {"cudnnGetPoolingNdForwardOutputDim", &cudnn.pool_output},
    };
    void *library = dlopen(CUDNN_LIB "/libcudnn.so.9", RTLD_NOW);

    (void)state;
    if (!library) {
        print_message("%s\n", dlerror());
        return -1;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(library, functions[i].name);

        if (!found)
            return -1;
        memcpy(functions[i].function, &found, sizeof found);
    }
    return cudnn.create_tensor(&made.tensor) || cudnn.create_filter(&made.filter) ||
           cudnn.create_convolution(&made.convolution) || cudnn.create_pool(&made.pool);
}

/* 2 x channels x size as cuDNN's tensor; a lacking second dimension has one element. */
static void set_tensor(int rank, int64_t channels, const int64_t *size, int dims)
{
    int dim[5] = {2, (int)channels, 1, 1, 1}, stride[5];

    for (int d = 0; d < dims; d++)
        dim[d + 2] = (int)size[d];
    stride[rank - 1] = 1;
    for (int d = rank - 1; d > 0; d--)
        stride[d - 1] = stride[d] * dim[d];
    assert_int_equal(cudnn.set_tensor(made.tensor, CUDNN_DATA_FLOAT, rank, dim, stride),
                     CUDNN_STATUS_SUCCESS);
}

static int rank_of(const struct dlt_op *op)
{
    return op->dims + 2 < LEAST_RANK ? LEAST_RANK : op->dims + 2;
}

/* cuDNN's output of the layer's window over in_channels x size, which lead to out_channels.
 * pad: whether cuDNN pads; else size holds the padding already. False where cuDNN refuses. */
static bool convolve(const struct layer *l, const int64_t *size, int64_t in_channels,
                     int64_t out_channels, bool pad, int out[5])
{
    const struct dlt_spatial *s = &l->result.record.u.spatial;
    int rank = rank_of(l->op);
    int padding[3] = {0}, stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1};
    int filter[5] = {(int)out_channels, (int)(in_channels / s->groups), 1, 1, 1};

    set_tensor(rank, in_channels, size, l->op->dims);
    for (int d = 0; d < l->op->dims; d++) {
        padding[d] = pad ? (int)s->padding[d][0] : 0;
        stride[d] = (int)s->stride[d];
        dilation[d] = (int)s->dilation[d];
        filter[d + 2] = (int)s->kernel[d];
    }
    assert_int_equal(
        cudnn.set_filter(made.filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, rank, filter),
        CUDNN_STATUS_SUCCESS);
    assert_int_equal(cudnn.set_convolution(made.convolution, rank - 2, padding, stride, dilation,
                                           CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
                     CUDNN_STATUS_SUCCESS);
    assert_int_equal(cudnn.set_groups(made.convolution, (int)s->groups), CUDNN_STATUS_SUCCESS);
    return cudnn.convolution_output(made.convolution, made.tensor, made.filter, rank, out) ==
               CUDNN_STATUS_SUCCESS &&
           out[2] > 0 && out[3] > 0 && (rank < 5 || out[4] > 0);
}

static void convolutions_have_the_output_of_cudnn(void **state)
{
    static const char *const names[] = {"conv1d", "conv2d", "conv3d"};
    int taken = 0;

    (void)state;
    for (int i = 0; i < SETS; i++) {
        struct layer l = draw_convolution(names[i % 3], false, true);
        const struct dlt_spatial *s = &l.result.record.u.spatial;
        int out[5];

        if (!l.taken) {
            /* What does not fit here does not fit there. */
            assert_false(convolve(&l, s->in_size, s->in_channels, s->out_channels, true, out));
            continue;
        }
        taken++;
        assert_true(convolve(&l, s->in_size, s->in_channels, s->out_channels, true, out));
        for (int d = 0; d < l.op->dims + 2; d++)
            assert_int_equal(l.result.output[0].dim[d], out[d]);
    }
    assert_true(taken > SETS / 2);
}

/* cuDNN's padding is the same on both sides; what is not has been padded before, as frameworks do
 * it. */
static void uneven_padding_has_the_output_of_cudnn(void **state)
{
    static const char *const names[] = {"conv1d", "conv2d", "conv3d"};
    int taken = 0;

    (void)state;
    for (int i = 0; i < SETS; i++) {
        struct layer l = draw_convolution(names[i % 3], false, false);
        const struct dlt_spatial *s = &l.result.record.u.spatial;
        int64_t padded[3] = {0};
        int out[5];

        if (!l.taken)
            continue;
        taken++;
        for (int d = 0; d < l.op->dims; d++)
            padded[d] = s->in_size[d] + s->padding[d][0] + s->padding[d][1];
        assert_true(convolve(&l, padded, s->in_channels, s->out_channels, false, out));
        for (int d = 0; d < l.op->dims + 2; d++)
            assert_int_equal(l.result.output[0].dim[d], out[d]);
    }
    assert_true(taken > SETS / 2);
}

/* A transposed convolution is the convolution backwards: cuDNN's over the output gives the input;
 * and over an output that is smaller by output_padding + 1 it no longer does. */
static void transposed_convolutions_have_the_output_of_cudnn(void **state)
{
    static const char *const names[] = {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"};
    int taken = 0;

    (void)state;
    for (int i = 0; i < SETS; i++) {
        struct layer l = draw_convolution(names[i % 3], true, true);
        const struct dlt_convolution_attributes *a = (const void *)l.attribute;
        const struct dlt_spatial *s = &l.result.record.u.spatial;
        int64_t less[3] = {0};
        bool positive = true;
        int out[5];

        if (!l.taken)
            continue;
        taken++;
        assert_true(
            convolve(&l, l.result.output[0].dim + 2, s->out_channels, s->in_channels, true, out));
        for (int d = 0; d < l.op->dims + 2; d++)
            assert_int_equal(l.input.dim[d], out[d]);
        for (int d = 0; d < l.op->dims; d++) {
            less[d] = l.result.output[0].dim[d + 2] - a->output_padding[d] - 1;
            positive &= less[d] > 0;
        }
        if (positive && convolve(&l, less, s->out_channels, s->in_channels, true, out))
            for (int d = 0; d < l.op->dims; d++)
                assert_int_equal(l.input.dim[d + 2] - 1, out[d + 2]);
    }
    assert_true(taken > SETS / 2);
}

/* cuDNN has neither dilated pools nor ceil_mode. */
static void pools_have_the_output_of_cudnn(void **state)
{
    static const char *const names[] = {"max_pool1d", "avg_pool1d", "max_pool2d",
                                        "avg_pool2d", "max_pool3d", "avg_pool3d"};
    int taken = 0;

    (void)state;
    for (int i = 0; i < SETS; i++) {
        struct layer l = draw_pool(names[i % 6], false, 1);
        const struct dlt_spatial *s = &l.result.record.u.spatial;
        int rank = rank_of(l.op);
        int window[3] = {1, 1, 1}, padding[3] = {0}, stride[3] = {1, 1, 1}, out[5];

        if (!l.taken)
            continue;
        taken++;
        set_tensor(rank, s->in_channels, s->in_size, l.op->dims);
        for (int d = 0; d < l.op->dims; d++) {
            window[d] = (int)s->kernel[d];
            padding[d] = (int)s->padding[d][0];
            stride[d] = (int)s->stride[d];
        }
        assert_int_equal(
            cudnn.set_pool(made.pool,
                           i % 2 ? CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING : CUDNN_POOLING_MAX,
                           CUDNN_PROPAGATE_NAN, rank - 2, window, padding, stride),
            CUDNN_STATUS_SUCCESS);
        assert_int_equal(cudnn.pool_output(made.pool, made.tensor, rank, out),
                         CUDNN_STATUS_SUCCESS);
        for (int d = 0; d < l.op->dims + 2; d++)
            assert_int_equal(l.result.output[0].dim[d], out[d]);
    }
    assert_true(taken > SETS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_have_the_output_of_cudnn),
        cmocka_unit_test(uneven_padding_has_the_output_of_cudnn),
        cmocka_unit_test(transposed_convolutions_have_the_output_of_cudnn),
        cmocka_unit_test(pools_have_the_output_of_cudnn),
    };

    return cmocka_run_group_tests(tests, open_library, NULL);
}

#else

static void shapes_are_those_of_cudnn(void **state)
{
    (void)state;
    print_message("built without cuDNN 9; CUDNN_INCLUDE and CUDNN_LIB say where it is\n");
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes_are_those_of_cudnn)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif

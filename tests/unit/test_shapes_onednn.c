/* SPDX-License-Identifier: Apache-2.0 */
/* Output sizes of convolutions, transposed convolutions and pools against oneDNN, whose descriptors
 * refuse an output of the wrong size. Thousands of random attribute sets. */
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#include "shapes.h"

enum { SETS = 3000 };

/* The library is opened at run time, as dlbench opens its backends. */
static struct {
    __typeof__(dnnl_memory_desc_init_by_tag) *memory;
    __typeof__(dnnl_dilated_convolution_forward_desc_init) *convolution;
    __typeof__(dnnl_dilated_deconvolution_forward_desc_init) *transposed;
    __typeof__(dnnl_pooling_v2_forward_desc_init) *pool;
} onednn;

static int open_library(void **state)
{
    void *library = dlopen("libdnnl.so.2", RTLD_NOW);

    (void)state;
    if (!library)
        return -1;
    *(void **)&onednn.memory = dlsym(library, "dnnl_memory_desc_init_by_tag");
    *(void **)&onednn.convolution = dlsym(library, "dnnl_dilated_convolution_forward_desc_init");
    *(void **)&onednn.transposed = dlsym(library, "dnnl_dilated_deconvolution_forward_desc_init");
    *(void **)&onednn.pool = dlsym(library, "dnnl_pooling_v2_forward_desc_init");
    return onednn.memory && onednn.convolution && onednn.transposed && onednn.pool ? 0 : -1;
}

/* N x C x spatial, or with groups G x O/G x I/G x window. */
static dnnl_memory_desc_t descriptor(int dims, const int64_t *head, int heads, const int64_t *tail)
{
    static const dnnl_format_tag_t tags[] = {
        [3] = dnnl_abc, [4] = dnnl_abcd, [5] = dnnl_abcde, [6] = dnnl_abcdef};
    dnnl_memory_desc_t made;
    dnnl_dims_t size = {0};

    for (int i = 0; i < heads; i++)
        size[i] = head[i];
    for (int d = 0; d < dims; d++)
        size[heads + d] = tail[d];
    assert_int_equal(onednn.memory(&made, heads + dims, size, dnnl_f32, tags[heads + dims]),
                     dnnl_success);
    return made;
}

static void window(const struct dlt_spatial *s, int dims, dnnl_dims_t stride, dnnl_dims_t dilation,
                   dnnl_dims_t before, dnnl_dims_t after)
{
    for (int d = 0; d < dims; d++) {
        stride[d] = s->stride[d];
        dilation[d] = s->dilation[d] - 1;
        before[d] = s->padding[d][0];
        after[d] = s->padding[d][1];
    }
}

/* oneDNN's answer to the layer with an output that is larger by `more` in its last dimension. */
static bool convolution_fits(const struct layer *l, int64_t more)
{
    const struct dlt_spatial *s = &l->result.record.u.spatial;
    int dims = l->op->dims;
    bool transposed = s->out_size[0] > 0;
    int64_t out[3] = {0};
    dnnl_dims_t stride = {0}, dilation = {0}, before = {0}, after = {0};
    dnnl_memory_desc_t src, dst, weights;
    dnnl_convolution_desc_t made;

    for (int d = 0; d < dims; d++)
        out[d] = l->result.output[0].dim[d + 2] + (d == dims - 1 ? more : 0);
    src = descriptor(dims, (int64_t[]){2, s->in_channels}, 2, s->in_size);
    dst = descriptor(dims, (int64_t[]){2, s->out_channels}, 2, out);
    weights = descriptor(
        dims, (int64_t[]){s->groups, s->out_channels / s->groups, s->in_channels / s->groups}, 3,
        s->kernel);
    window(s, dims, stride, dilation, before, after);
    /* What output_padding adds at the end is less padding there. */
    for (int d = 0; transposed && d < dims; d++)
        after[d] = (s->in_size[d] - 1) * s->stride[d] + s->dilation[d] * (s->kernel[d] - 1) + 1 -
                   before[d] - l->result.output[0].dim[d + 2];
    if (transposed)
        return onednn.transposed(&made, dnnl_forward_training, dnnl_deconvolution_direct, &src,
                                 &weights, NULL, &dst, stride, dilation, before,
                                 after) == dnnl_success;
    return onednn.convolution(&made, dnnl_forward_training, dnnl_convolution_direct, &src, &weights,
                              NULL, &dst, stride, dilation, before, after) == dnnl_success;
}

static void convolutions_have_the_output_that_onednn_wants(void **state)
{
    static const char *const names[] = {"conv1d", "conv2d", "conv3d"};
    int taken = 0;

    (void)state;
    for (int i = 0; i < SETS; i++) {
        struct layer l = draw_convolution(names[i % 3], false, false);

        if (!l.taken)
            continue;
        taken++;
        assert_true(convolution_fits(&l, 0));
        assert_false(convolution_fits(&l, 1));
    }
    assert_true(taken > SETS / 2);
}

/* oneDNN takes no output_padding above the stride, where torch does if the dilation is larger; and
 * it wants the output that is exactly covered, so output_padding shows as less padding: the
 * test is of the rest of the formula. */
static void transposed_convolutions_have_the_output_that_onednn_wants(void **state)
{
    static const char *const names[] = {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"};
    int taken = 0;

    (void)state;
    for (int i = 0; i < SETS; i++) {
        struct layer l = draw_convolution(names[i % 3], true, false);

        if (!l.taken)
            continue;
        taken++;
        assert_true(convolution_fits(&l, 0));
        assert_false(convolution_fits(&l, l.result.record.u.spatial.stride[l.op->dims - 1]));
    }
    assert_true(taken > SETS / 2);
}

static bool pool_fits(const struct layer *l, int64_t more)
{
    const struct dlt_spatial *s = &l->result.record.u.spatial;
    int dims = l->op->dims;
    int64_t out[3] = {0};
    dnnl_dims_t stride = {0}, dilation = {0}, before = {0}, after = {0}, kernel = {0};
    dnnl_memory_desc_t src, dst;
    dnnl_pooling_v2_desc_t made;

    for (int d = 0; d < dims; d++) {
        out[d] = l->result.output[0].dim[d + 2] + (d == dims - 1 ? more : 0);
        kernel[d] = s->kernel[d];
    }
    src = descriptor(dims, (int64_t[]){2, s->in_channels}, 2, s->in_size);
    dst = descriptor(dims, (int64_t[]){2, s->in_channels}, 2, out);
    window(s, dims, stride, dilation, before, after);
    return onednn.pool(&made, dnnl_forward_training, dnnl_pooling_max, &src, &dst, stride, kernel,
                       dilation, before, after) == dnnl_success;
}

static void pools_have_the_output_that_onednn_wants(void **state)
{
    static const char *const names[] = {"max_pool1d", "max_pool2d", "max_pool3d"};
    int taken = 0;

    (void)state;
    for (int i = 0; i < SETS; i++) {
        struct layer l = draw_pool(names[i % 3], draw(0, 1), 2);

        if (!l.taken)
            continue;
        taken++;
        assert_true(pool_fits(&l, 0));
        assert_false(pool_fits(&l, 1));
    }
    assert_true(taken > SETS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_have_the_output_that_onednn_wants),
        cmocka_unit_test(transposed_convolutions_have_the_output_that_onednn_wants),
        cmocka_unit_test(pools_have_the_output_that_onednn_wants),
    };

    return cmocka_run_group_tests(tests, open_library, NULL);
}

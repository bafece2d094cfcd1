/*
 * arguments.h - what the kernels of kernels.cu are called with. Read by C and by the device's
 * compiler alike: plain structs, one for each family of kernels, passed by value.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pointers are to the device's memory. Where the type of the elements is not said it is the
 * kernel's own (float32, float16 or bfloat16, in the kernel's name); statistics, sums and the
 * optimizer's state are always float32.
 */
#ifndef DLBENCH_CUDA_ARGUMENTS_H
#define DLBENCH_CUDA_ARGUMENTS_H

enum { BENCH_MAP_RANK = 8, BENCH_BLOCK = 256, BENCH_PLANES = 3, BENCH_CHUNK = 65536 };

/* Elementwise functions with a kernel for each type, spelt as dlt_function_names does. */
#define BENCH_UNARY(X)                                                                             \
    X(relu)                                                                                        \
    X(relu6)                                                                                       \
    X(gelu)                                                                                        \
    X(sigmoid)                                                                                     \
    X(tanh)                                                                                        \
    X(pow)                                                                                         \
    X(silu)                                                                                        \
    X(hardswish)                                                                                   \
    X(hardsigmoid)                                                                                 \
    X(hardtanh)                                                                                    \
    X(leaky_relu)                                                                                  \
    X(elu)                                                                                         \
    X(softplus)                                                                                    \
    X(mish)                                                                                        \
    X(exp)                                                                                         \
    X(log)                                                                                         \
    X(sqrt)                                                                                        \
    X(erf)                                                                                         \
    X(abs)                                                                                         \
    X(scale)                                                                                       \
    X(copy)

#define BENCH_BINARY(X)                                                                            \
    X(add)                                                                                         \
    X(sub)                                                                                         \
    X(mul)                                                                                         \
    X(div)                                                                                         \
    X(maximum)

enum bench_binary_function {
#define BENCH_NAME(name) BENCH_BINARY_##name,
    BENCH_BINARY(BENCH_NAME)
#undef BENCH_NAME
};

/* fill: values in center +- spread, which follow from seed and place alone. */
struct bench_fill_arguments {
    void *out;
    long long count;
    float center, spread;
    unsigned int seed;
};

/* labels: whole numbers in [0, classes). */
struct bench_labels_arguments {
    int *out;
    long long count, classes;
    unsigned int seed;
};

/* unary_*: out = f(in). unary_back_*: out = gradient f'(in). */
struct bench_unary_arguments {
    const void *in, *gradient;
    void *out;
    long long count;
};

/* binary_*: out = f(a, b). binary_back_*: to_a = gradient df/da, to_b = gradient df/db. */
struct bench_binary_arguments {
    const void *a, *b, *gradient;
    void *out, *to_a, *to_b;
    long long count;
};

/* broadcast_*, broadcast_back_*: the same where operands are repeated along dimensions in which
 * their stride is 0; everything else is in row-major order. to_a and to_b are as large as the
 * output; NULL where not wanted. */
struct bench_broadcast_arguments {
    const void *a, *b, *gradient;
    void *out, *to_a, *to_b;
    long long count;
    int function; /* enum bench_binary_function */
    int rank;
    long long dim[BENCH_MAP_RANK], stride_a[BENCH_MAP_RANK], stride_b[BENCH_MAP_RANK];
};

/* dropout: mask has one byte for each element, 0 or 1; what is kept is doubled. */
struct bench_dropout_arguments {
    const void *in;
    void *out;
    unsigned char *mask;
    long long count;
    unsigned int seed;
};

/* accumulate: out += in. */
struct bench_pair_arguments {
    const void *in;
    void *out;
    long long count;
};

/* permute: [images][rows][columns] to [images][columns][rows]. */
struct bench_permute_arguments {
    const void *in;
    void *out;
    long long images;
    int rows, columns;
};

/*
 * block: rows of `columns` elements from one array into another, each with a pitch of its own:
 * what concat and its gradient are made of.
 */
struct bench_block_arguments {
    const void *in;
    void *out;
    long long rows, columns, in_pitch, out_pitch;
};

/*
 * map: out[i] = in[at(i)], where at is start + sum over d of (table[d] ? table[d][i_d] :
 * i_d stride[d]); negative entries of a table give zero. map_back: out[at(i)] += in[i], float32.
 */
struct bench_map_arguments {
    const void *in;
    void *out;
    long long count, start;
    int rank;
    long long dim[BENCH_MAP_RANK], stride[BENCH_MAP_RANK];
    const long long *table[BENCH_MAP_RANK];
};

/*
 * reduce: out[o] = factor x the sum of the elements of `in` that belong to o. `outer` are the
 * dimensions that stay, `inner` those that go, both as sizes and strides into `in`.
 */
struct bench_reduce_arguments {
    const void *in;
    void *out;
    long long outputs, reduced;
    float factor;
    int outer_rank, inner_rank;
    long long outer[BENCH_MAP_RANK], outer_stride[BENCH_MAP_RANK];
    long long inner[BENCH_MAP_RANK], inner_stride[BENCH_MAP_RANK];
};

/*
 * norm: rows of `columns` elements. layer_norm: groups 1, plane 1. group_norm: a row is a group of
 * an image: columns / plane channels; parameter (row % groups) (columns / plane) + i / plane.
 * shift NULL: rms_norm, which takes no mean.
 */
struct bench_norm_arguments {
    const void *in, *gradient;
    void *out;
    const float *scale, *shift;
    float *mean, *inverse; /* of each row */
    float *partial;        /* [splits][2][parameters]: gradients of scale and shift */
    long long rows;
    int columns, groups, plane, splits;
    float epsilon;
};

/* softmax: period > 0: row r sees columns up to r % period (causal attention). */
struct bench_softmax_arguments {
    const void *in, *gradient;
    void *out;
    long long rows;
    int columns, period;
};

/* loss: cross-entropy of each row and the gradient of the mean over rows. */
struct bench_loss_arguments {
    const void *scores;
    void *gradient;
    const int *label;
    float *loss;
    long long rows;
    int columns;
};

/* channel_add: out[n][c][p] += bias[c]. channel_sum: partial[split][c] = the sum over n and p of a
 * split's share; in plane-last layout plane is 1 and images are all places. */
struct bench_channel_arguments {
    const void *in; /* channel_add: the bias */
    void *out;      /* channel_sum: float32 [splits][channels] */
    long long images;
    int channels, plane, splits;
};

/* combine: out[i] = the sum over splits of partial[split][i]. */
struct bench_combine_arguments {
    const float *partial;
    void *out;
    long long count, pitch;
    int splits;
};

/* pool: `index` holds the place in the input plane that a maximum came from. */
struct bench_pool_arguments {
    const void *in;
    void *out;
    int *index;
    long long images;
    int channels, last, average;
    int in_size[BENCH_PLANES], out_size[BENCH_PLANES], kernel[BENCH_PLANES], stride[BENCH_PLANES],
        padding[BENCH_PLANES], dilation[BENCH_PLANES];
};

/* upsample: planes of in_size to planes of out_size, by the nearest element or linearly between two
 * in each dimension (torch's align_corners=False). upsample_back: `in` is the output's gradient,
 * `out` float32 and zero before. */
struct bench_upsample_arguments {
    const void *in;
    void *out;
    long long planes;
    int in_size[2], out_size[2], linear;
};

/* embedding: out[row] = table[index[row]]. embedding_back: table[index[row]] += in[row], float32.
 */
struct bench_embedding_arguments {
    const void *in;
    void *out;
    const int *index;
    long long rows;
    int width;
};

/* One trained array, and the part of it that one block updates. */
struct bench_update_array {
    void *weight;
    const void *gradient;
    float *first, *second; /* the optimizer's state */
    float *sum, *factor;   /* foreach: what is between its steps */
    long long count;
};
struct bench_update_chunk {
    int array;
    long long start;
};
struct bench_update_arguments {
    const struct bench_update_array *array;
    const struct bench_update_chunk *chunk;
    float *norms; /* lamb: sums of squares of weight and step, two for each array */
    int optimizer;
    float rate, correct1, correct2;
};

/* One arithmetic step over arrays, y = f(x, z, scale); registers name the array's members. */
enum bench_register {
    BENCH_NONE,
    BENCH_REGISTER_WEIGHT,
    BENCH_REGISTER_GRADIENT,
    BENCH_REGISTER_FIRST,
    BENCH_REGISTER_SECOND,
    BENCH_REGISTER_SUM,
    BENCH_REGISTER_FACTOR
};
enum bench_foreach {
    BENCH_FOREACH_SCALE, /* y = scale x */
    BENCH_FOREACH_SHIFT, /* y = x + scale */
    BENCH_FOREACH_ROOT,  /* y = sqrt(x) */
    BENCH_FOREACH_ADD,   /* y = x + scale z */
    BENCH_FOREACH_LERP,  /* y = x + scale (z - x) */
    BENCH_FOREACH_MUL,   /* y = x z */
    BENCH_FOREACH_DIV,   /* y = x / z */
    BENCH_FOREACH_SQUARE /* y += scale x z */,
    BENCH_FOREACH_QUOTIENT /* y += scale x / z */
};
struct bench_foreach_arguments {
    const struct bench_update_array *array;
    const struct bench_update_chunk *chunk;
    int function, y, x, z;
    float scale;
};

#endif

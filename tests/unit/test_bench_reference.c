/* SPDX-License-Identifier: Apache-2.0 */

/* The reference that backends are held against is itself held against finite differences of its
 * own forward pass, and against values computed by hand. */
#include <stdlib.h>
#include <string.h>

#include "reference.h"
#include "shapes.h"
#include "test.h"

static double unit(void)
{
    static uint64_t state = 88172645463325252ULL;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53 * 2 - 1;
}

static double *array(const struct dlt_record *record, enum bench_role role, int index, bool random)
{
    struct bench_shape shape;
    double *values;

    if (!bench_role_shape(record, role, index, &shape))
        return NULL;
    values = calloc(bench_shape_count(&shape), sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; random && i < bench_shape_count(&shape); i++)
        values[i] = unit();
    return values;
}

static double loss(const struct dlt_record *record, struct bench_arrays *a, const double *weights)
{
    struct dlt_record forward = *record;
    struct bench_shape shape;
    double sum = 0;

    forward.pass = DLT_FORWARD;
    assert_true(bench_reference(&forward, 0, a));
    bench_role_shape(record, BENCH_OUTPUT, 0, &shape);
    for (size_t i = 0; i < bench_shape_count(&shape); i++)
        sum += weights[i] * a->output[i];
    return sum;
}

/* d loss / d values[i] by central differences, against `gradient`. */
static void check_gradient(const struct dlt_record *record, struct bench_arrays *a,
                           enum bench_role role, int index, double *values, const double *gradient)
{
    struct bench_shape shape;
    const double step = 1e-6;

    assert_true(bench_role_shape(record, role, index, &shape));
    for (size_t i = 0; i < bench_shape_count(&shape); i++) {
        double kept = values[i], up, down;

        values[i] = kept + step;
        up = loss(record, a, a->output_gradient);
        values[i] = kept - step;
        down = loss(record, a, a->output_gradient);
        values[i] = kept;
        assert_near(gradient[i], (up - down) / (2 * step), 1e-6);
    }
}

static void check(struct dlt_record record)
{
    struct bench_arrays a = {0};

    record.pass = DLT_BACKWARD;
    for (int i = 0; i < bench_operands(&record); i++) {
        a.input[i] = array(&record, BENCH_INPUT, i, true);
        a.input_gradient[i] = array(&record, BENCH_INPUT_GRADIENT, i, false);
    }
    a.weight[0] = array(&record, BENCH_WEIGHT, 0, true);
    a.bias[0] = array(&record, BENCH_BIAS, 0, true);
    a.mask = array(&record, BENCH_MASK, 0, true);
    a.output = array(&record, BENCH_OUTPUT, 0, false);
    a.output_gradient = array(&record, BENCH_OUTPUT_GRADIENT, 0, true);
    a.weight_gradient[0] = array(&record, BENCH_WEIGHT_GRADIENT, 0, false);
    a.bias_gradient[0] = array(&record, BENCH_BIAS_GRADIENT, 0, false);
    assert_true(bench_reference(&record, 0, &a));
    for (int i = 0; i < bench_operands(&record); i++)
        check_gradient(&record, &a, BENCH_INPUT, i, a.input[i], a.input_gradient[i]);
    if (a.weight[0])
        check_gradient(&record, &a, BENCH_WEIGHT, 0, a.weight[0], a.weight_gradient[0]);
    if (a.bias[0])
        check_gradient(&record, &a, BENCH_BIAS, 0, a.bias[0], a.bias_gradient[0]);
    for (int i = 0; i < bench_operands(&record); i++) {
        free(a.input[i]);
        free(a.input_gradient[i]);
    }
    free(a.weight[0]);
    free(a.bias[0]);
    free(a.mask);
    free(a.output);
    free(a.output_gradient);
    free(a.weight_gradient[0]);
    free(a.bias_gradient[0]);
}

static struct dlt_record make(const char *kind)
{
    return dlt_record_make(dlt_record_kind_find(kind));
}

static void gradients_of_convolutions_are_their_derivatives(void **state)
{
    struct dlt_record record = make("conv2d");

    (void)state;
    record.u.spatial = (struct dlt_spatial){.batch = 2,
                                            .in_channels = 4,
                                            .out_channels = 6,
                                            .groups = 2,
                                            .bias = 1,
                                            .in_size = {5, 6},
                                            .kernel = {3, 2},
                                            .stride = {2, 1},
                                            .dilation = {1, 2},
                                            .padding = {{1, 1}, {0, 1}}};
    check(record);
}

static void gradients_of_pools_and_norms_are_their_derivatives(void **state)
{
    static const char *const kinds[] = {"max_pool2d", "avg_pool2d", "batch_norm"};

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct dlt_record record = make(kinds[i]);

        record.u.spatial = (struct dlt_spatial){.batch = 2,
                                                .in_channels = 3,
                                                .groups = 1,
                                                .training = 1,
                                                .in_size = {5, 5},
                                                .kernel = {3, 3},
                                                .stride = {2, 2},
                                                .dilation = {1, 1},
                                                .padding = {{1, 1}, {1, 1}}};
        check(record);
    }
}

static void gradients_of_products_are_their_derivatives(void **state)
{
    struct dlt_record dense = make("dense"), bmm = make("bmm");

    (void)state;
    dense.u.matmul = (struct dlt_matmul){1, 3, 4, 5, 1};
    check(dense);
    bmm.u.matmul = (struct dlt_matmul){2, 3, 4, 5, 0};
    check(bmm);
}

static void gradients_of_rows_are_their_derivatives(void **state)
{
    struct dlt_record softmax = make("softmax"), norm = make("layer_norm");

    (void)state;
    softmax.u.rowwise = norm.u.rowwise = (struct dlt_rowwise){0, 1, 3, 7};
    check(softmax);
    check(norm);
}

static void gradients_of_functions_are_their_derivatives(void **state)
{
    static const struct dlt_rowwise rows[] = {
        {DLT_GELU, 1, 3, 5},   {DLT_SIGMOID, 1, 3, 5}, {DLT_TANH, 1, 3, 5},    {DLT_POW, 1, 3, 5},
        {DLT_ADD, 2, 3, 5},    {DLT_SUB, 2, 3, 5},     {DLT_MUL, 2, 3, 5},     {DLT_RELU, 1, 3, 5},
        {DLT_CONCAT, 3, 7, 2}, {DLT_CONCAT, 3, 2, 8},  {DLT_DROPOUT, 1, 3, 5},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dlt_record record = make("elementwise");

        record.u.rowwise = rows[i];
        check(record);
    }
}

/* One step with w = 1, g = 2, fresh state: torch.optim gives these. */
static void optimizers_make_the_steps_of_torch_optim(void **state)
{
    static const struct {
        enum dlt_optimizer optimizer;
        double after;
    } rows[] = {
        {DLT_SGD, 1 - 0.1 * 2},
        {DLT_MOMENTUM, 1 - 0.1 * 2},
        {DLT_NESTEROV, 1 - 0.1 * (2 + 0.9 * 2)},
        {DLT_ADAM, 1 - 0.1},               /* m / sqrt(v) = 1 after bias correction */
        {DLT_ADAMW, 1 - 0.1 * 0.01 - 0.1}, /* decoupled decay 0.01 */
        {DLT_ADAGRAD, 1 - 0.1},            /* g / sqrt(g^2) */
        {DLT_RMSPROP, 1 - 0.1 * 2 / 0.2},  /* g / sqrt(0.01 g^2) */
        {DLT_ADADELTA,
         1 - 0.1 * 2 * 1e-3 / 0.632456322602597}, /* sqrt(1e-6) / sqrt(0.1 g^2 + 1e-6) */
        {DLT_LAMB, 1 - 0.1},                      /* trust ratio makes the step |w| long */
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dlt_record record = make("optimizer_update");
        double w = 1, g = 2, s = 0, t = 0;
        struct bench_arrays a = {.weight = {&w}, .weight_gradient = {&g}, .state = {&s, &t}};

        record.pass = DLT_UPDATE;
        record.optimizer = rows[i].optimizer;
        record.u.update.elements = 1;
        assert_true(bench_reference(&record, 0.1, &a));
        assert_near(w, rows[i].after, 1e-7);
    }
}

/* torch.nn.LSTM(1, 1) and GRU(1, 1) of torch 1.13 with these weights over three steps. torch holds
 * a gru's gates as r z n, this z r n. */
static void recurrent_layers_are_those_of_pytorch(void **state)
{
    static const struct {
        const char *kind;
        double w[4], u[4], b[4], y[3];
    } rows[] = {
        {"lstm",
         {0.5, 1, 1.5, 2},
         {-0.25, -0.5, -0.75, -1},
         {0, 0.1, 0.2, 0.3},
         {0.4765259, -0.0027495, 0.2274365}},
        {"gru",
         {1, 0.5, 1.5},
         {-0.5, -0.25, -0.75},
         {0.1, 0, 0.2, 0.3},
         {0.2385234, -0.8479291, -0.3835381}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dlt_record record = make(rows[i].kind);
        double x[] = {1, -2, 0.5}, y[3];
        struct bench_arrays a = {.input = {x},
                                 .weight = {(double *)rows[i].w, (double *)rows[i].u},
                                 .bias = {(double *)rows[i].b},
                                 .output = y};

        record.u.recurrent = (struct dlt_recurrent){1, 3, 1, 1, 1, 1, 0, 1};
        assert_true(bench_reference(&record, 0, &a));
        for (int t = 0; t < 3; t++)
            assert_near(y[t], rows[i].y[t], 1e-6);
    }
}

/* torch.softmax(q @ k.T / 2 ** 0.5, -1) @ v */
static void attention_is_that_of_pytorch(void **state)
{
    static const double expected[] = {2.3395231, -2.0185692, 1.1116145, 1.6651566};
    struct dlt_record record = make("scaled_dot_product_attention");
    double q[] = {1, 0, 0, 2}, k[] = {1, 1, 2, -1}, v[] = {1, 2, 3, -4}, y[4];
    struct bench_arrays a = {.input = {q, k, v}, .output = y};

    (void)state;
    record.u.attention = (struct dlt_attention){1, 1, 2, 2, 2, 0};
    assert_true(bench_reference(&record, 0, &a));
    for (int i = 0; i < 4; i++)
        assert_near(y[i], expected[i], 1e-6);
}

static void concat_parts_cover_the_output(void **state)
{
    struct dlt_record record = make("elementwise");
    struct bench_shape shape;
    int64_t sum = 0;

    (void)state;
    record.u.rowwise = (struct dlt_rowwise){DLT_CONCAT, 3, 11, 4};
    for (int i = 0; i < 3; i++) {
        assert_true(bench_role_shape(&record, BENCH_INPUT, i, &shape));
        sum += shape.dim[0];
        assert_int_equal(shape.dim[1], 4);
    }
    assert_int_equal(sum, 11);
    assert_false(bench_role_shape(&record, BENCH_INPUT, 3, &shape));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_convolutions_are_their_derivatives),
        cmocka_unit_test(gradients_of_pools_and_norms_are_their_derivatives),
        cmocka_unit_test(gradients_of_products_are_their_derivatives),
        cmocka_unit_test(gradients_of_rows_are_their_derivatives),
        cmocka_unit_test(gradients_of_functions_are_their_derivatives),
        cmocka_unit_test(optimizers_make_the_steps_of_torch_optim),
        cmocka_unit_test(recurrent_layers_are_those_of_pytorch),
        cmocka_unit_test(attention_is_that_of_pytorch),
        cmocka_unit_test(concat_parts_cover_the_output),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

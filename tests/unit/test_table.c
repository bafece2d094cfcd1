/* SPDX-License-Identifier: Apache-2.0 */
/* A table of convolutions and the regression beside it (Bryzgalov and Maeda 2024). */
#include <string.h>

#include "graph/model.h"
#include "learn/table_fit.h"
#include "lower/lower.h"
#include "spec.h"
#include "test.h"

static struct dlt_record convolution(int64_t batch, int64_t in, int64_t out, int64_t size,
                                     int64_t kernel)
{
    struct dlt_record record = dlt_record_make(dlt_record_kind_find("conv2d"));
    struct dlt_spatial *s = &record.u.spatial;

    s->batch = batch;
    s->in_channels = in;
    s->out_channels = out;
    for (int d = 0; d < 2; d++) {
        s->in_size[d] = size;
        s->kernel[d] = kernel;
        s->padding[d][0] = s->padding[d][1] = kernel / 2;
    }
    return record;
}

static void add(struct dlt_table_draft *draft, struct dlt_record record, enum dlt_pass pass,
                double seconds)
{
    record.pass = pass;
    assert_int_equal(dlt_table_rows_add(draft, &record, seconds), 0);
}

static double known(const struct dlt_table_draft *draft, const struct dlt_record *record,
                    double batch, enum dlt_table_slot slot)
{
    struct dlt_table_shape shape;

    assert_true(dlt_table_shape_of(record, &shape));
    for (uint32_t i = 0; i < draft->head.shapes; i++)
        if (dlt_table_same_shape(&draft->shape[i], &shape))
            return dlt_table_known(&draft->table, &draft->shape[i], batch, slot);
    return NAN;
}

static void times_between_batches_lie_on_a_line(void **state)
{
    struct dlt_record record = convolution(4, 16, 32, 28, 3);
    struct dlt_table_draft draft = {0};

    (void)state;
    add(&draft, record, DLT_FORWARD, 1e-3);
    record.u.spatial.batch = 8;
    add(&draft, record, DLT_FORWARD, 1.8e-3);
    record.u.spatial.batch = 16;
    add(&draft, record, DLT_FORWARD, 4e-3);
    assert_int_equal(dlt_table_build(&draft), 0);
    assert_int_equal(draft.head.shapes, 1);
    assert_int_equal(draft.head.points, 3);
    assert_near(known(&draft, &record, 8, DLT_TABLE_FORWARD), 1.8e-3, 1e-9);
    assert_near(known(&draft, &record, 6, DLT_TABLE_FORWARD), 1.4e-3, 1e-9);
    assert_near(known(&draft, &record, 12, DLT_TABLE_FORWARD), 2.9e-3, 1e-9);
    /* Beyond the last: 2.2 ms for 8 samples more. Below the first: 0.8 ms for 4, no less than in
     * proportion. */
    assert_near(known(&draft, &record, 32, DLT_TABLE_FORWARD), 8.4e-3, 1e-8);
    assert_near(known(&draft, &record, 2, DLT_TABLE_FORWARD), 0.6e-3, 1e-9);
    assert_true(isnan(known(&draft, &record, 8, DLT_TABLE_BACKWARD)));
    dlt_table_draft_clear(&draft);
}

static void gradients_timed_apart_add_up_and_repeats_average(void **state)
{
    struct dlt_record record = convolution(4, 16, 32, 28, 3);
    struct dlt_table_draft draft = {0};

    (void)state;
    add(&draft, record, DLT_BACKWARD_DATA, 1e-3);
    add(&draft, record, DLT_BACKWARD_WEIGHT, 2e-3);
    add(&draft, record, DLT_BACKWARD_WEIGHT, 8e-3); /* geometric mean: 4 ms */
    assert_int_equal(dlt_table_build(&draft), 0);
    assert_near(known(&draft, &record, 4, DLT_TABLE_WEIGHT), 4e-3, 1e-9);
    assert_near(known(&draft, &record, 4, DLT_TABLE_BACKWARD), 5e-3, 1e-9);
    dlt_table_draft_clear(&draft);
}

static void another_bias_padding_or_group_is_another_shape(void **state)
{
    struct dlt_record record = convolution(4, 16, 32, 28, 3), other;
    struct dlt_table_shape a, b;

    (void)state;
    assert_true(dlt_table_shape_of(&record, &a));
    other = record;
    other.u.spatial.batch = 9;
    assert_true(dlt_table_shape_of(&other, &b) && dlt_table_same_shape(&a, &b));
    other.u.spatial.bias = 1;
    assert_true(dlt_table_shape_of(&other, &b) && !dlt_table_same_shape(&a, &b));
    other = record;
    other.u.spatial.padding[1][1] = 0;
    assert_true(dlt_table_shape_of(&other, &b) && !dlt_table_same_shape(&a, &b));
    other = record;
    other.u.spatial.groups = 16;
    assert_true(dlt_table_shape_of(&other, &b) && !dlt_table_same_shape(&a, &b));
    other.u.spatial.kernel[0] = 70000;
    assert_false(dlt_table_shape_of(&other, &b));
    other = dlt_record_make(dlt_record_kind_find("dense"));
    assert_false(dlt_table_shape_of(&other, &b));
}

/* A device whose 3 x 3 convolutions take three times what their arithmetic says, 1 x 1 as much as
 * it says: no linear cost model knows both, but the nearest shapes do. */
static double odd_time(const struct dlt_record *record)
{
    struct dlt_work work;

    dlt_record_work(record, &work);
    return 2e-6 + (record->u.spatial.kernel[0] == 3 ? 3 : 1) * work.macs / 2e10;
}

static void a_missing_shape_takes_what_its_nearest_do(void **state)
{
    static const int64_t channels[] = {16, 32, 64, 128, 256};
    struct dlt_record missing = convolution(4, 64, 64, 14, 3);
    struct dlt_table_draft draft = {0};
    struct dlt_table_shape shape;
    double cost;

    (void)state;
    for (int i = 0; i < 5; i++)
        for (int o = 0; o < 5; o++)
            for (int64_t size = 7; size <= 28; size *= 2)
                for (int64_t kernel = 1; kernel <= 3; kernel += 2)
                    for (int64_t batch = 2; batch <= 8; batch *= 2) {
                        struct dlt_record r =
                            convolution(batch, channels[i], channels[o], size, kernel);

                        if (channels[i] == 64 && channels[o] == 64)
                            continue;
                        add(&draft, r, DLT_FORWARD, odd_time(&r));
                    }
    assert_int_equal(dlt_table_build(&draft), 0);
    assert_int_equal(dlt_table_fit(&draft), 0);
    assert_true(dlt_table_shape_of(&missing, &shape));
    cost = dlt_table_cost(&draft.head, &shape, 4, DLT_TABLE_FORWARD);
    assert_true(fabs(log(cost / odd_time(&missing))) > 0.1);
    assert_near(dlt_table_near(&draft.table, &shape, 4, DLT_TABLE_FORWARD) / odd_time(&missing), 1,
                0.05);
    /* A 1 x 1 kernel, ln 9 away, counts less than a twentieth of an equal one. */
    assert_true(exp(-draft.head.length[0][5] * log(9) * log(9) / 2) < 0.05);
    dlt_table_draft_clear(&draft);
}

enum { NETWORKS = 10, BATCHES = 3, CASES = NETWORKS * BATCHES };

/* What the synthetic world takes beside its convolutions: seconds of a byte of norms, of a
 * parameter to update, and of each step. */
static const double norm_byte = 4e-10, parameter = 2e-9, constant = 3e-3;

struct world {
    struct dlt_graph *graph[CASES];
    struct dlt_plan *plan[CASES];
    struct dlt_table_case cases[CASES];
};

static double convolutions_of(const struct dlt_plan *plan, struct dlt_table_draft *draft, int pass)
{
    double seconds = 0;

    for (size_t u = 0; u < plan->unit_count; u++) {
        struct dlt_record record = plan->unit[u].record;
        double one = odd_time(&record);

        if (!dlt_is_convolution(record.kind))
            continue;
        if (pass == 0) {
            add(draft, record, DLT_FORWARD, one);
            add(draft, record, DLT_BACKWARD_WEIGHT, 1.5 * one);
            add(draft, record, DLT_BACKWARD, 2.5 * one);
        }
        seconds += pass == 0 ? one : plan->unit[u].data_gradient ? 2.5 * one : 1.5 * one;
    }
    return seconds;
}

static double norm_bytes(const struct dlt_plan *plan, int part)
{
    double term[DLT_TABLE_PARTS][DLT_TABLE_TERMS];

    dlt_table_terms(plan, term);
    for (int i = 0; i < DLT_TABLE_TERMS; i++)
        if (strcmp(dlt_table_term_names[i], "norm bytes") == 0)
            return term[part][i];
    return NAN;
}

static void make_plan(struct world *w, int i, const char *text, int batch)
{
    struct dlt_error error;
    struct dlt_model *model;
    char keys[64];

    snprintf(keys, sizeof keys, ",batch=%d,optimizer=sgd,framework=pytorch", batch);
    if (spec_load(text, strlen(text), keys, &model) ||
        dlt_model_graph(model, batch, &w->graph[i], &error) ||
        dlt_lower(w->graph[i], &model->training, true, 1, &w->plan[i], &error)) {
        fail_msg("%s", spec_error);
        abort(); /* what fail_msg did */
    }
    dlt_model_destroy(model);
}

static void make_world(struct world *w, struct dlt_table_draft *draft, bool apart)
{
    char text[512];

    for (int i = 0; i < CASES; i++) {
        int n = i / BATCHES;
        struct dlt_table_case *c = &w->cases[i];
        double update;

        snprintf(text, sizeof text,
                 "{\"input\":[3,%d,%d],\"layers\":["
                 "{\"op\":\"conv2d\",\"out_channels\":%d,\"kernel_size\":3,\"padding\":1},"
                 "{\"op\":\"batch_norm\"},"
                 "{\"op\":\"conv2d\",\"out_channels\":%d,\"kernel_size\":%d},"
                 "{\"op\":\"batch_norm\"},{\"op\":\"batch_norm\"}%s]}",
                 16 + 4 * n, 16 + 4 * n, 8 + 24 * (n % 4), 16 + 40 * (n % 3), n % 2 ? 1 : 3,
                 n % 3 ? "" : ",{\"op\":\"batch_norm\"},{\"op\":\"batch_norm\"}");
        make_plan(w, i, text, 4 << (i % BATCHES));
        update = parameter * (double)w->plan[i]->update.u.update.elements;
        c->plan = w->plan[i];
        c->network = n;
        c->forward_s =
            convolutions_of(c->plan, draft, 0) + norm_byte * norm_bytes(c->plan, 0) + constant;
        c->backward_s = convolutions_of(c->plan, draft, 1) + norm_byte * norm_bytes(c->plan, 1);
        c->step_s = c->forward_s + c->backward_s + update;
        if (!apart)
            c->forward_s = c->backward_s = 0;
    }
}

static void free_world(struct world *w)
{
    for (int i = 0; i < CASES && w->plan[i]; i++) {
        dlt_plan_destroy(w->plan[i]);
        dlt_graph_destroy(w->graph[i]);
    }
}

static double predicted(const struct dlt_table_draft *draft, const struct dlt_plan *plan,
                        double seconds[DLT_TABLE_PARTS])
{
    double term[DLT_TABLE_PARTS][DLT_TABLE_TERMS];
    struct dlt_table_sum sum;

    dlt_table_convolutions(&draft->table, plan, NULL, &sum);
    dlt_table_terms(plan, term);
    dlt_table_parts(&draft->head, &sum, term, seconds);
    return seconds[0] + seconds[1] + seconds[2];
}

/* step = convolutions + norms' bytes + parameters + constant, without noise: comes back, part by
 * part, and from networks that were left out. */
static void a_step_of_convolutions_and_linear_rest_comes_back(void **state)
{
    struct dlt_table_draft draft = {0};
    struct world w;

    (void)state;
    make_world(&w, &draft, true);
    assert_int_equal(dlt_table_build(&draft), 0);
    assert_int_equal(dlt_table_learn(&draft, w.cases, CASES, NETWORKS, true), 0);
    for (int i = 0; i < CASES; i++) {
        double seconds[DLT_TABLE_PARTS];

        assert_near(predicted(&draft, w.plan[i], seconds) / w.cases[i].step_s, 1, 0.02);
        assert_near(seconds[DLT_PART_FORWARD] / w.cases[i].forward_s, 1, 0.03);
        assert_near(seconds[DLT_PART_BACKWARD] / w.cases[i].backward_s, 1, 0.03);
    }
    assert_near(draft.head.factor[0], 1, 0.05);
    assert_near(draft.head.factor[1], 1, 0.05);
    assert_true(draft.head.mape < 0.02);
    assert_near(draft.head.networks, NETWORKS, 0);
    assert_near(draft.head.runs, CASES, 0);
    /* Without their own convolutions networks are further off, and the table says so. */
    assert_true(draft.head.sigma_near >= draft.head.sigma);
    assert_near(dlt_table_sigma(&draft.head, 0), draft.head.sigma, 1e-12);
    assert_near(dlt_table_sigma(&draft.head, 1), draft.head.sigma_near, 1e-12);
    free_world(&w);
    dlt_table_draft_clear(&draft);
}

static void whole_steps_alone_are_enough(void **state)
{
    struct dlt_table_draft draft = {0};
    struct world w;

    (void)state;
    make_world(&w, &draft, false);
    assert_int_equal(dlt_table_build(&draft), 0);
    assert_int_equal(dlt_table_learn(&draft, w.cases, CASES, NETWORKS, true), 0);
    for (int i = 0; i < CASES; i++) {
        double seconds[DLT_TABLE_PARTS];

        assert_near(predicted(&draft, w.plan[i], seconds) / w.cases[i].step_s, 1, 0.03);
    }
    assert_true(draft.head.mape < 0.05);
    free_world(&w);
    dlt_table_draft_clear(&draft);
}

/* Three networks of nothing but a convolution give a fourth, which has none, no time at all: that
 * is far off, a factor of 20,000 where a microsecond is the least, and no infinity, which would
 * make the whole profile unreadable. */
static void a_network_that_the_others_say_nothing_of_has_a_finite_error(void **state)
{
    struct dlt_table_draft draft = {0};
    struct world w = {0};
    char text[128];

    (void)state;
    for (int n = 0; n < 4; n++) {
        struct dlt_table_case *c = &w.cases[n];

        snprintf(text, sizeof text,
                 "{\"input\":[3,%d,%d],\"layers\":[{\"op\":\"conv2d\","
                 "\"out_channels\":%d,\"kernel_size\":3}]}",
                 16 + 8 * n, 16 + 8 * n, 8 + 8 * n);
        make_plan(&w, n,
                  n < 3 ? text
                        : "{\"input\":[64],\"layers\":[{\"op\":\"dense\","
                          "\"out_features\":64}]}",
                  8);
        c->plan = w.plan[n];
        c->network = n;
        c->forward_s = n < 3 ? convolutions_of(c->plan, &draft, 0) : 1e-2;
        c->backward_s = n < 3 ? convolutions_of(c->plan, &draft, 1) : 1e-2;
        c->step_s = c->forward_s + c->backward_s;
    }
    assert_int_equal(dlt_table_build(&draft), 0);
    assert_int_equal(dlt_table_learn(&draft, w.cases, 4, 4, true), 0);
    /* ln 20,000 = 9.9 of one network in four and the three of the prior. */
    assert_true(draft.head.network_sigma > 1 && draft.head.network_sigma < 9.9);
    assert_true(isfinite(draft.head.sigma_near) && isfinite(draft.head.mape));
    free_world(&w);
    dlt_table_draft_clear(&draft);
}

static void bytes_that_contradict_themselves_are_refused(void **state)
{
    struct {
        struct dlt_file_table head;
        struct dlt_table_shape shape;
        struct dlt_table_point point;
    } b;
    struct dlt_table table;

    (void)state;
    memset(&b, 0, sizeof b);
    b.head.layout = DLT_TABLE_LAYOUT;
    b.head.shapes = b.head.points = 1;
    b.shape.dims = 2;
    b.shape.groups = b.shape.in_channels = b.shape.out_channels = b.shape.count = 1;
    for (int d = 0; d < 2; d++) {
        b.shape.in_size[d] = 8;
        b.shape.kernel[d] = b.shape.stride[d] = b.shape.dilation[d] = 1;
    }
    b.point = (struct dlt_table_point){4, {1e-3F, NAN, NAN}};
    assert_true(dlt_table_parse((const unsigned char *)&b, sizeof b, &table));
    assert_false(dlt_table_parse((const unsigned char *)&b, sizeof b.head, &table));
    b.head.points = UINT32_MAX;
    assert_false(dlt_table_parse((const unsigned char *)&b, sizeof b, &table));
    b.head.points = 1;
    b.shape.first = 1; /* one point beyond the last */
    assert_false(dlt_table_parse((const unsigned char *)&b, sizeof b, &table));
    b.shape.first = 0;
    b.shape.dims = 4;
    assert_false(dlt_table_parse((const unsigned char *)&b, sizeof b, &table));
    b.shape.dims = 2;
    b.shape.stride[1] = 0;
    assert_false(dlt_table_parse((const unsigned char *)&b, sizeof b, &table));
    b.shape.stride[1] = 1;
    b.point.seconds[0] = 0;
    assert_false(dlt_table_parse((const unsigned char *)&b, sizeof b, &table));
    b.point.seconds[0] = 1e-3F;
    b.point.batch = NAN;
    assert_false(dlt_table_parse((const unsigned char *)&b, sizeof b, &table));
    b.point.batch = 4;
    b.head.factor[0] = NAN;
    assert_false(dlt_table_parse((const unsigned char *)&b, sizeof b, &table));
    b.head.factor[0] = 1;
    b.head.layout++;
    assert_false(dlt_table_parse((const unsigned char *)&b, sizeof b, &table));
}

/* A float has 24 bits: of 2^24 and 2^24 + 1 samples it makes one number, and a table's batches
 * grow. What a table of both held could not be read again. */
static void batches_that_a_float_cannot_tell_apart_are_left_out(void **state)
{
    struct dlt_table_draft draft = {0};
    struct dlt_record record = convolution(1 << 24, 3, 8, 1, 1);

    (void)state;
    add(&draft, record, DLT_FORWARD, 1);
    record.u.spatial.batch++;
    add(&draft, record, DLT_FORWARD, 1);
    record.u.spatial.batch = (int64_t)1 << 40;
    add(&draft, record, DLT_FORWARD, 1);
    assert_int_equal(dlt_table_build(&draft), 0);
    assert_int_equal(draft.head.points, 1);
    dlt_table_draft_clear(&draft);
}

/* A second of sound at 96 kHz: its convolution is counted, and has no time. */
static void a_convolution_that_a_table_has_no_room_for_is_told(void **state)
{
    static const char text[] = "{\"input\":[1,96000],\"layers\":["
                               "{\"op\":\"conv1d\",\"out_channels\":8,\"kernel_size\":80,"
                               "\"stride\":4},"
                               "{\"op\":\"conv1d\",\"out_channels\":8,\"kernel_size\":3}]}";
    struct dlt_table_draft draft = {0};
    struct dlt_table_sum sum;
    struct dlt_model *model;
    struct dlt_graph *graph = NULL;
    struct dlt_error error;
    struct dlt_plan *plan = NULL;

    (void)state;
    add(&draft, convolution(4, 16, 32, 28, 3), DLT_FORWARD, 1e-3);
    assert_int_equal(dlt_table_build(&draft), 0);
    if (spec_load(text, sizeof text - 1, ",batch=4,optimizer=sgd,framework=pytorch", &model) ||
        dlt_model_graph(model, 4, &graph, &error) ||
        dlt_lower(graph, &model->training, true, 1, &plan, &error))
        fail_msg("%s", spec_error);
    dlt_table_convolutions(&draft.table, plan, NULL, &sum);
    assert_int_equal(sum.too_large, 1);
    assert_int_equal(sum.convolutions, 1);
    dlt_plan_destroy(plan);
    dlt_graph_destroy(graph);
    dlt_model_destroy(model);
    dlt_table_draft_clear(&draft);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_between_batches_lie_on_a_line),
        cmocka_unit_test(gradients_timed_apart_add_up_and_repeats_average),
        cmocka_unit_test(another_bias_padding_or_group_is_another_shape),
        cmocka_unit_test(a_missing_shape_takes_what_its_nearest_do),
        cmocka_unit_test(a_step_of_convolutions_and_linear_rest_comes_back),
        cmocka_unit_test(whole_steps_alone_are_enough),
        cmocka_unit_test(a_network_that_the_others_say_nothing_of_has_a_finite_error),
        cmocka_unit_test(bytes_that_contradict_themselves_are_refused),
        cmocka_unit_test(batches_that_a_float_cannot_tell_apart_are_left_out),
        cmocka_unit_test(a_convolution_that_a_table_has_no_room_for_is_told),
    };

    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}

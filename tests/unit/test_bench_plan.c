/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "plan.h"
#include "test.h"

enum { MOST = 200 };

/* A step written by hand: buffers by letter, and who touches them. */
struct step {
    struct bench_plan plan;
    struct bench_extent extent[MOST];
    size_t count, bytes;
};

static struct bench_extent *add(struct step *step, size_t size)
{
    struct bench_extent *extent = &step->extent[step->count++];
    struct dlt_error error;

    *extent = bench_extent_of(step, size);
    assert_int_equal(bench_plan_add(&step->plan, extent, &error), BENCH_OK);
    return extent;
}

static struct step *begin(void)
{
    struct step *step = calloc(1, sizeof *step);

    assert_non_null(step);
    bench_plan_open(&step->plan);
    return step;
}

static void place(struct step *step)
{
    struct dlt_error error;

    assert_int_equal(bench_plan_place(&step->plan, &step->bytes, &error), BENCH_OK);
    assert_true(bench_plan_holds(&step->plan));
    assert_true((double)step->bytes >= step->plan.least_bytes);
    assert_true((double)step->bytes <= step->plan.sum_bytes);
}

static void end(struct step *step)
{
    bench_plan_clear(&step->plan);
    free(step);
}

/*
 * Three layers in a row, each y = f(x) whose backward pass reads y and dy and writes dx:
 *
 *   moment         a(10)  b(20)  c(40)  dc(40)  db(20)  da(10)   alive
 *   f0: a            x                                             10
 *   f1: a -> b       x      x                                      30
 *   f2: b -> c       |      x      x                               70
 *   loss: c -> dc    |      |      x      x                       110
 *   b2: c dc -> db   |      |      x      x       x               130
 *   b1: b db -> da   |      x                     x      x         60
 *   b0: a da         x                                   x         20
 *
 * 140 without a plan. The most is at b2; da goes where c was.
 */
static void a_chain_takes_what_its_widest_moment_takes(void **state)
{
    struct step *step = begin();
    struct bench_extent *a = add(step, 10), *b = add(step, 20), *c = add(step, 40);
    struct bench_extent *dc = add(step, 40), *db = add(step, 20), *da = add(step, 10);

    (void)state;
    bench_plan_use(a, 0, DLT_FORWARD);
    bench_plan_use(a, 1, DLT_FORWARD);
    bench_plan_use(b, 1, DLT_FORWARD);
    bench_plan_use(b, 2, DLT_FORWARD);
    bench_plan_use(c, 2, DLT_FORWARD);
    bench_plan_use(c, 3, DLT_FORWARD);
    bench_plan_use(dc, 3, DLT_FORWARD);
    bench_plan_use(c, 2, DLT_BACKWARD);
    bench_plan_use(dc, 2, DLT_BACKWARD);
    bench_plan_use(db, 2, DLT_BACKWARD);
    bench_plan_use(b, 1, DLT_BACKWARD);
    bench_plan_use(db, 1, DLT_BACKWARD);
    bench_plan_use(da, 1, DLT_BACKWARD);
    bench_plan_use(a, 0, DLT_BACKWARD);
    bench_plan_use(da, 0, DLT_BACKWARD);
    place(step);
    assert_near(step->plan.sum_bytes, 140, 0);
    assert_near(step->plan.least_bytes, 130, 0);
    assert_int_equal(step->bytes, 130);
    end(step);
}

/*
 * A residual block: x, two branches of it, their sum, and a relu that works in place on the sum
 * (one buffer, s). Adding needs neither operand to go back. x's gradient is written by the second
 * branch, which is the first one on the way back, and added to by the first branch. The branches
 * read x to go back, relu reads s. All arrays have one unit.
 *
 *   moment              x  u  v  s  ds  du  dv  t  dx   alive
 *   0  x                x                                 1
 *   1  u = f(x)         x  x                              2
 *   2  v = g(x)         x  x  x                           3
 *   3  s = u + v        |  x  x  x                        4
 *   4  s = relu(s)      |        x                        2
 *   5  loss: s -> ds    |        x  x                     3
 *   4' ds = ds (s > 0)  |        x  x                     3
 *   3' du = dv = ds     |           x   x   x             4
 *   2' dx = g'(dv)      x               |   x      x      4
 *   1' t = f'(du)       x               x       x  x      4
 *      dx += t
 *   0' dx               x                          x      2
 *
 * 9 without a plan, 4 with it.
 */
static void a_residual_block_with_relu_in_place_keeps_four_arrays(void **state)
{
    enum { X, U, V, S, DS, DU, DV, T, DX, BUFFERS };
    static const struct {
        int order;
        enum dlt_pass pass;
        int buffer[4]; /* -1: no more */
    } uses[] = {{0, DLT_FORWARD, {X, -1}},
                {1, DLT_FORWARD, {X, U, -1}},
                {2, DLT_FORWARD, {X, V, -1}},
                {3, DLT_FORWARD, {U, V, S, -1}},
                {4, DLT_FORWARD, {S, -1}},
                {5, DLT_FORWARD, {S, DS, -1}},
                {4, DLT_BACKWARD_DATA, {S, DS, -1}},
                {3, DLT_BACKWARD_DATA, {DS, DU, DV, -1}},
                {2, DLT_BACKWARD_DATA, {X, DV, DX, -1}},
                {1, DLT_BACKWARD_DATA, {X, DU, T, DX}},
                {0, DLT_BACKWARD_WEIGHT, {X, DX, -1}}};
    struct step *step = begin();

    (void)state;
    for (int i = 0; i < BUFFERS; i++)
        add(step, 64);
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        for (int k = 0; k < 4 && uses[i].buffer[k] >= 0; k++)
            bench_plan_use(&step->extent[uses[i].buffer[k]], uses[i].order, uses[i].pass);
    place(step);
    assert_near(step->plan.sum_bytes, 9 * 64, 0);
    assert_near(step->plan.least_bytes, 4 * 64, 0);
    assert_int_equal(step->bytes, 4 * 64);
    end(step);
}

/* Views are one extent: it is alive for the longest of them. A weight lives on between steps and is
 * no part of the plan; its gradient is alive until the update. */
static void views_prolong_a_buffer_and_a_gradient_waits_for_its_update(void **state)
{
    struct step *step = begin();
    struct bench_extent *x = add(step, 8), *weight = add(step, 100), *dw = add(step, 16);
    struct bench_extent *early = add(step, 8), *late = add(step, 16);

    (void)state;
    weight->apart = true;
    bench_plan_use(x, 0, DLT_FORWARD);
    bench_plan_use(x, 5, DLT_FORWARD); /* through a view */
    bench_plan_use(early, 2, DLT_FORWARD);
    bench_plan_use(weight, 3, DLT_FORWARD);
    bench_plan_use(dw, 3, DLT_BACKWARD_WEIGHT);
    bench_plan_use(late, 1, DLT_BACKWARD);
    bench_plan_use(dw, 3, DLT_UPDATE);
    bench_plan_use(weight, 3, DLT_UPDATE);
    place(step);
    assert_near(step->plan.sum_bytes, 8 + 16 + 8 + 16, 0);
    /* x and early in forward: 16; dw and late in backward: 32. */
    assert_int_equal(step->bytes, 32);
    assert_true(x->offset >= early->offset + 8 || early->offset >= x->offset + 8);
    assert_true(dw->offset >= late->offset + 16 || late->offset >= dw->offset + 16);
    end(step);
}

static void buffers_that_nothing_uses_and_an_empty_plan_are_placed(void **state)
{
    struct step *step = begin();

    (void)state;
    place(step);
    assert_int_equal(step->bytes, 0);
    bench_plan_open(&step->plan);
    step->count = 0;
    add(step, 8);
    add(step, 8);
    place(step);
    assert_int_equal(step->bytes, 16);
    end(step);
}

static void a_step_that_cannot_be_addressed_has_no_memory(void **state)
{
    struct step *step = begin();
    struct dlt_error error;

    (void)state;
    add(step, SIZE_MAX);
    add(step, SIZE_MAX);
    assert_int_equal(bench_plan_place(&step->plan, &step->bytes, &error), BENCH_NO_MEMORY);
    end(step);
}

/* Two that are alive together and share bytes are found. */
static void a_plan_that_does_not_hold_is_seen(void **state)
{
    struct step *step = begin();
    struct bench_extent *a = add(step, 8), *b = add(step, 8);

    (void)state;
    bench_plan_use(a, 0, DLT_FORWARD);
    bench_plan_use(b, 0, DLT_FORWARD);
    place(step);
    b->offset = a->offset + 7;
    assert_false(bench_plan_holds(&step->plan));
    bench_plan_use(b, 1, DLT_FORWARD);
    b->first = b->last;
    assert_true(bench_plan_holds(&step->plan));
    end(step);
}

static void random_steps_hold_and_take_little_more_than_the_least(void **state)
{
    (void)state;
    srand(1);
    for (int turn = 0; turn < 300; turn++) {
        struct step *step = begin();
        int layers = 1 + rand() % 40;

        for (int i = 0; i < MOST; i++) {
            struct bench_extent *extent = add(step, 64 * (size_t)(1 + rand() % 100));

            bench_plan_use(extent, rand() % layers, rand() % 2 ? DLT_FORWARD : DLT_BACKWARD);
            bench_plan_use(extent, rand() % layers, rand() % 2 ? DLT_UPDATE : DLT_BACKWARD);
        }
        place(step);
        assert_true((double)step->bytes < 1.25 * step->plan.least_bytes);
        end(step);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_takes_what_its_widest_moment_takes),
        cmocka_unit_test(a_residual_block_with_relu_in_place_keeps_four_arrays),
        cmocka_unit_test(views_prolong_a_buffer_and_a_gradient_waits_for_its_update),
        cmocka_unit_test(buffers_that_nothing_uses_and_an_empty_plan_are_placed),
        cmocka_unit_test(a_step_that_cannot_be_addressed_has_no_memory),
        cmocka_unit_test(a_plan_that_does_not_hold_is_seen),
        cmocka_unit_test(random_steps_hold_and_take_little_more_than_the_least),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "learned.h"
#include "lower/scatter.h"
#include "predict/profile_format.h"
#include "predict/scattered.h"
#include "spec.h"

/* Elements that the last node of a network of two inputs of 4 x 16 x 16 reads across their memory.
 */
static double scattered(const char *layers, double *operand)
{
    char text[1024];
    struct dlt_graph *graph;
    double elements;

    snprintf(text, sizeof text,
             "{\"inputs\": {\"x\": [4, 16, 16], \"y\": [4, 16, 16]}, \"layers\": [%s]}", layers);
    graph = spec_graph(text, 2);
    elements = dlt_scattered(graph, graph->node_count - 1, operand);
    dlt_graph_destroy(graph);
    return elements;
}

/* T5 looks its bias up as 16 x 16 x 4 heads and sees it as 4 x 16 x 16, for both samples of the
 * batch. */
static void a_bias_looked_up_by_distance_is_read_across_its_memory(void **state)
{
    double operand;

    (void)state;
    assert_near(
        scattered("{\"op\": \"parameter\", \"name\": \"table\", \"shape\": [32, 4]},"
                  "{\"op\": \"arange\", \"name\": \"index\", \"end\": 16},"
                  "{\"op\": \"reshape\", \"shape\": [-1, 1]},"
                  "{\"op\": \"expand\", \"name\": \"pairs\", \"shape\": [16, 16]},"
                  "{\"op\": \"index_select\", \"dim\": 0, \"inputs\": [\"table\", \"pairs\"]},"
                  "{\"op\": \"permute\", \"dims\": [2, 0, 1]},"
                  "{\"op\": \"unsqueeze\", \"dim\": 0},"
                  "{\"op\": \"add\", \"inputs\": [\"x\", \"@\"]}",
                  &operand),
        2 * 4 * 16 * 16, 0);
    assert_near(operand, 4 * 16 * 16, 0);
}

static void operands_in_the_same_order_are_read_as_they_lie(void **state)
{
    static const char *const layers[] = {
        "{\"op\": \"add\", \"inputs\": [\"x\", \"y\"]}",
        /* Both turned: the kernel walks as they lie. */
        "{\"op\": \"transpose\", \"dim0\": -1, \"dim1\": -2, \"name\": \"a\", \"inputs\": [\"x\"]},"
        "{\"op\": \"transpose\", \"dim0\": -1, \"dim1\": -2, \"name\": \"b\", \"inputs\": [\"y\"]},"
        "{\"op\": \"add\", \"inputs\": [\"a\", \"b\"]}",
        /* Rows stay rows. */
        "{\"op\": \"permute\", \"dims\": [0, 2, 1, 3], \"name\": \"a\", \"inputs\": [\"x\"]},"
        "{\"op\": \"permute\", \"dims\": [0, 2, 1, 3], \"name\": \"b\", \"inputs\": [\"a\"]},"
        "{\"op\": \"add\", \"inputs\": [\"b\", \"y\"]}",
    };
    double operand;

    (void)state;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        assert_near(scattered(layers[i], &operand), 0, 0);
    assert_near(scattered("{\"op\": \"transpose\", \"dim0\": -1, \"dim1\": -2, \"name\": \"a\", "
                          "\"inputs\": [\"x\"]},"
                          "{\"op\": \"add\", \"inputs\": [\"a\", \"y\"]}",
                          &operand),
                2 * 4 * 16 * 16, 0);
}

static struct dlt_record draw_add(struct dlt_random *random)
{
    struct dlt_record record = dlt_record_make(dlt_record_kind_find("elementwise"));

    record.u.rowwise = (struct dlt_rowwise){.function = DLT_ADD,
                                            .operands = 2,
                                            .rows = draw(random, 16, 65536),
                                            .columns = draw(random, 16, 2048)};
    return record;
}

/* 1e7 floats, each with the other 60 bytes that are fetched with it: 0.6 GB at 4e11 bytes/s, 1.5
 * ms; nothing where a cache of 50 MB holds the operand's 40. */
static void memory_hands_out_sixteen_floats_for_each(void **state)
{
    struct dlt_corpus corpus = {0};
    struct dlt_random random;
    struct dlt_profile *profile;
    struct dlt_device device = paper_device("paper");
    struct dlt_target target = {.device = &device};
    struct dlt_unit unit = {.scattered = 1e7, .scattered_operand = 1e7};
    struct dlt_price price = {.seconds = 1e-3, .sigma = 0.1, .basis = DLT_BASIS_MEASURED};

    (void)state;
    dlt_random_seed(&random, 1, 0);
    add_group(&corpus, "paper", 0);
    add_rows(&corpus, &random, 200, draw_add, DLT_FORWARD, DLT_OPTIMIZER_NONE, 0, NULL);
    profile = learned(&corpus, DLT_METHOD_COST);
    unit.record = draw_add(&random);
    dlt_price_add_scattered(profile, &target, &unit, &price);
    assert_near(price.seconds, 1e-3 + 1.5e-3, 0.15e-3);
    assert_true(price.sigma > 0.2);
    device.l2_bytes = 50e6;
    price.seconds = 1e-3;
    dlt_price_add_scattered(profile, &target, &unit, &price);
    assert_near(price.seconds, 1e-3, 0);
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bias_looked_up_by_distance_is_read_across_its_memory),
        cmocka_unit_test(operands_in_the_same_order_are_read_as_they_lie),
        cmocka_unit_test(memory_hands_out_sixteen_floats_for_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's Einsum: shapes, parameters and products are those that torch.einsum runs. */
#include "onnx_write.h"
#include "spec.h"

/* a, b and c: batch x 8 x 4 x 16, batch x 10 x 4 x 16 and batch x 8; w: 4 x 16 x 6 of parameters,
 * v of 8; i: one for each sample of four times four. */
static struct onnx_bytes graph_of(const char *inputs, const char *equation)
{
    struct onnx_bytes g = {0}, node, attribute = {0};

    onnx_input(&g, "a", 1, -1, 8, 4, 16);
    onnx_input(&g, "b", 1, -1, 10, 4, 16);
    onnx_input(&g, "c", 1, -1, 8);
    onnx_input(&g, "i", 1, -1, 4, 4);
    if (strchr(inputs, 'w'))
        onnx_weights(&g, "w", 4, 16, 6);
    if (strchr(inputs, 'v'))
        onnx_weights(&g, "v", 8);
    node = onnx_node_bytes("Einsum", inputs, "y", "");
    onnx_text(&attribute, 1, "equation");
    onnx_text(&attribute, 4, equation);
    onnx_put(&node, 5, &attribute);
    onnx_put(&g, 1, &node);
    onnx_output(&g, "y");
    return g;
}

/* MACs of a batch of 2. */
static void products_are_those_of_the_equation(void **state)
{
    static const struct {
        const char *inputs, *equation;
        int64_t out[6]; /* ends with 0 */
        double macs;
    } cases[] = {
        {"a b", "bqhd,bkhd->bhqk", {2, 4, 8, 10}, 2 * 4 * 8 * 10 * 16},
        {"a b", " b q h d , b k h d -> b h q k ", {2, 4, 8, 10}, 2 * 4 * 8 * 10 * 16},
        {"a w", "bqhd,hdk->bqk", {2, 8, 6}, 2 * 8 * 64 * 6},
        {"w a", "hdk,bqhd->kqb", {6, 8, 2}, 2 * 8 * 64 * 6},
        {"a w", "...d,hdk->...hk", {2, 8, 4, 4, 6}, 2 * 8 * 4 * 16 * 24},
        {"a w", "bqhd,hdk", {2, 6, 8}, 2 * 8 * 64 * 6}, /* b, k, q: by the alphabet */
        {"a a", "...id,...jd->...ij", {2, 8, 4, 4}, 2 * 8 * 4 * 4 * 16},
        {"a c", "bqhd,bq->bhd", {2, 4, 16}, 2 * 64 * 8},
        {"c v", "bi,j->bij", {2, 8, 8}, 0},
        {"c v", "bi,i->bi", {2, 8}, 0},
        {"a", "bqhd->bdq", {2, 16, 8}, 0},
        {"i", "bii->bi", {2, 4}, 0},
        {"i", "bii->b", {2}, 0},
        /* b q h d times b q is summed to b h d, and that times w over h and d */
        {"a c w", "bqhd,bq,hdk->bk", {2, 6}, 2 * 64 * 8 + 2 * 64 * 6},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct onnx_bytes g = graph_of(cases[i].inputs, cases[i].equation);
        struct dlt_graph *graph = onnx_build(&g, "", 2);
        const struct dlt_tensor *t = &graph->tensor[graph->output[0]];
        struct dlt_graph_counts counts;

        for (int d = 0; d <= t->rank; d++)
            if (cases[i].out[d] != (d < t->rank ? t->dim[d] : 0))
                fail_msg("%s: size %d", cases[i].equation, d);
        dlt_graph_count(graph, true, &counts);
        if (counts.total.macs != cases[i].macs)
            fail_msg("%s: %.0f MACs, not %.0f", cases[i].equation, counts.total.macs,
                     cases[i].macs);
        if (strchr(cases[i].inputs, 'w') && counts.total.parameters != 4 * 16 * 6)
            fail_msg("%s: %.0f parameters", cases[i].equation, counts.total.parameters);
        assert_int_equal(graph->note_count, 0);
        dlt_graph_destroy(graph);
    }
}

static void equations_that_do_not_fit_are_told(void **state)
{
    static const char *const cases[][2] = {
        {"a b", "bqhd,bkhd->bhqz"},
        {"a b", "bqhd,bqhd->bhq"},
        {"a b", "bqhd->bhq"},
        {"a", "bqhd,bkhd->bhqk"},
        {"a", "bqh->bqh"},
        {"a", "bqhd-bq"},
        {"a", ""},
        {"a", "bqhd->bqq"},
        {"a", "b$hd->b"},
        {"a", "bq..->b"},
        {"a", "\xc3\xa4qhd->q"},
        {"i", "bqq->bqqqqqqqqqq"},
        {"a", "aabb->ab"},
        {"c v", "ai,abcdefghijk->abc"},
        {"c", "...->.."},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct onnx_bytes g = graph_of(cases[i][0], cases[i][1]), bytes = onnx_model(&g, 13);
        struct dlt_model *model;

        if (onnx_load(&bytes, "", &model) == 0)
            fail_msg("taken: %s", cases[i][1]);
        if (!strstr(onnx_error, "does not fit its inputs"))
            fail_msg("%s: %s", cases[i][1], onnx_error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_the_equation),
        cmocka_unit_test(equations_that_do_not_fit_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged JSON, of our models and Hugging Face's configurations: one sentence, soon, in little
 * memory. */
#include <sys/resource.h>
#include <sys/stat.h>

#include "spec.h"

static const char *const texts[] = {
    "{\"name\": \"net\", \"input\": [3, 8, 8], \"layers\": [{\"op\": \"conv2d\", \"name\": \"c\", "
    "\"out_channels\": 4, \"kernel_size\": [3, 3], \"padding\": \"same\"}, {\"repeat\": 2, "
    "\"layers\": [{\"op\": \"relu\"}, {\"op\": \"add\", \"inputs\": [\"@\", \"c\"]}]}], "
    "\"training\": {\"samples\": 1e3, \"batch\": 8}}",
    "{\"model_type\": \"gpt2\", \"n_embd\": 8, \"n_layer\": 2, \"n_head\": 2, \"vocab_size\": 11, "
    "\"n_positions\": 16}",
};
enum { TEXTS = sizeof texts / sizeof *texts };

/* Loads, builds, and frees; what is refused is refused in one printable sentence. */
static int try(const char *text, size_t size)
{
    struct dlt_model *model = NULL;
    struct dlt_graph *graph = NULL;
    struct dlt_error error = {.text = ""};
    int status = spec_load(text, size, "", &model);

    if (status == 0 && (status = dlt_model_graph(model, 2, &graph, &error)))
        strcpy(spec_error, error.text);
    if (status) {
        assert_true(*spec_error);
        for (const char *c = spec_error; *c; c++)
            assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
    }
    dlt_graph_destroy(graph);
    dlt_model_destroy(model);
    return status;
}

static void a_file_cut_short_anywhere_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < TEXTS; i++) {
        size_t whole = strlen(texts[i]);

        assert_int_equal(try(texts[i], whole), 0);
        for (size_t size = 0; size < whole; size++)
            assert_int_equal(try(texts[i], size), -1);
    }
}

static void any_flipped_bit_is_refused_or_another_network(void **state)
{
    (void)state;
    for (int i = 0; i < TEXTS; i++) {
        size_t whole = strlen(texts[i]);
        char *damaged = strdup(texts[i]);

        assert_non_null(damaged);
        for (size_t bit = 0; bit < 8 * whole; bit++) {
            damaged[bit / 8] = (char)(damaged[bit / 8] ^ 1 << bit % 8);
            try(damaged, whole);
            damaged[bit / 8] = texts[i][bit / 8];
        }
        free(damaged);
    }
}

/* What a key of a configuration or of a model must not be. */
static void sizes_out_of_range_are_refused(void **state)
{
    static const char *const values[] = {
        "-3",   "0",      "99999999999999999999", "1e300", "2.5", "\"9\"", "null", "[]",
        "true", "1e-300", "-9223372036854775808"};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[256];

        snprintf(text, sizeof text, "{\"model_type\": \"gpt2\", \"n_embd\": %s}", values[i]);
        if (strcmp(values[i], "null") == 0) { /* there the default, as in Hugging Face's files */
            assert_int_equal(try(text, strlen(text)), 0);
        } else {
            assert_int_equal(try(text, strlen(text)), -1);
            assert_non_null(strstr(spec_error, "n_embd"));
        }
        snprintf(text, sizeof text,
                 "{\"input\": [3, 8, 8], \"layers\": [{\"op\": \"conv2d\", \"out_channels\": 4, "
                 "\"kernel_size\": %s}]}",
                 values[i]);
        assert_int_equal(try(text, strlen(text)), -1);
        assert_non_null(strstr(spec_error, "layers[0].kernel_size"));
    }
}

static void names_that_are_not_utf8_are_refused(void **state)
{
    static const char model[] = "{\"name\": \"\xff\xfe\", \"input\": [3], \"layers\": []}";
    static const char config[] = "{\"model_type\": \"gpt2\", \"_name_or_path\": \"\xc3\"}";

    (void)state;
    assert_int_equal(try(model, sizeof model - 1), -1);
    assert_non_null(strstr(spec_error, "utf-8"));
    assert_int_equal(try(config, sizeof config - 1), -1);
    assert_non_null(strstr(spec_error, "utf-8"));
}

static void deep_nesting_is_refused(void **state)
{
    enum { DEPTH = 1000000 };
    char *text = malloc(DEPTH);

    (void)state;
    assert_non_null(text);
    memset(text, '[', DEPTH);
    assert_int_equal(try(text, DEPTH), -1);
    assert_non_null(strstr(spec_error, "nested more than"));
    free(text);
}

static void a_million_layers_are_refused_soon(void **state)
{
    static const char repeated[] =
        "{\"input\": [3], \"layers\": [{\"repeat\": 1000, \"layers\": [{\"repeat\": 1000, "
        "\"layers\": [{\"op\": \"relu\"}]}]}]}";
    static const char config[] = "{\"model_type\": \"gpt2\", \"n_layer\": 1000000}";
    struct rusage usage;

    (void)state;
    assert_int_equal(try(repeated, sizeof repeated - 1), -1);
    assert_int_equal(try(config, sizeof config - 1), -1);
    getrusage(RUSAGE_SELF, &usage);
    assert_true(usage.ru_maxrss < 512 * 1024);
}

static void folders_pipes_and_unreadable_files_are_named(void **state)
{
    char folder[] = "/tmp/dltime-spec-XXXXXX", path[64];
    struct dlt_model *model;
    struct dlt_error error;
    FILE *file;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/config.json", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(dlt_model_load(path, NULL, &model, &error), -1);
    assert_non_null(strstr(error.text, "is a directory"));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(dlt_model_load(path, NULL, &model, &error), -1);
    assert_non_null(strstr(error.text, "is not a regular file"));
    assert_int_equal(unlink(path), 0);
    file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(chmod(path, 0), 0);
    if (geteuid() != 0) { /* root reads it, and finds nothing in it */
        assert_int_equal(dlt_model_load(path, NULL, &model, &error), -1);
        assert_non_null(strstr(error.text, "ermission denied"));
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_cut_short_anywhere_is_refused),
        cmocka_unit_test(any_flipped_bit_is_refused_or_another_network),
        cmocka_unit_test(sizes_out_of_range_are_refused),
        cmocka_unit_test(names_that_are_not_utf8_are_refused),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(a_million_layers_are_refused_soon),
        cmocka_unit_test(folders_pipes_and_unreadable_files_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/scan.h"
#include "measure_files.h"

static void decimal_numbers_are_read_as_strtod_reads_them(void **state)
{
    (void)state;
    for (int i = 0; i < 100000; i++) {
        struct dlt_token token;
        char text[80];
        const char *cursor = text;
        size_t used;
        double value;

        snprintf(text, sizeof text, "%s%lld.%0*lld", i % 3 ? "" : "-",
                 (long long)random_below(i % 2 ? 1000 : 1LL << 50), (int)(i % 14) + 1,
                 (long long)random_below(1000));
        used = strlen(text);
        if (i % 5 == 0)
            snprintf(text + used, sizeof text - used, "e%d", (int)random_below(40) - 20);
        assert_true(dlt_scan_value(&cursor, &token));
        assert_true(dlt_token_double(&token, &value));
        if (memcmp(&value, &(double){strtod(text, NULL)}, sizeof value) != 0)
            fail_msg("%s was read as %.17g", text, value);
    }
}

static void only_json_is_taken_for_json(void **state)
{
    static const char *const good[] = {"1",
                                       "-0.5e+3",
                                       "\"\\u00e9\\n\"",
                                       "[]",
                                       "{}",
                                       " [1, {\"a\":[]}] ",
                                       "{\"a\":null,\"b\":true , \"c\" : false}"};
    static const char *const bad[] = {
        "",       "01",      "1.",       ".5",      "+1",         "1e",      "nan",
        "NaN",    "-",       "Infinity", "tru",     "\"",         "\"\\x\"", "\"\\u12g4\"",
        "\"\t\"", "[1,]",    "[1 2]",    "{\"a\"}", "{\"a\":1,}", "{a:1}",   "{\"a\":1 \"b\":2}",
        "[",      "{\"a\":", "'a'",      "[1}",     "{\"a\":1]"};
    char deep[101] = "";

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const char *cursor = good[i];
        struct dlt_token token;

        assert_true(dlt_scan_value(&cursor, &token) && *cursor == '\0');
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *cursor = bad[i];
        struct dlt_token token;

        if (dlt_scan_value(&cursor, &token) && *cursor == '\0')
            fail_msg("%s passed for JSON", bad[i]);
    }
    memset(deep, '[', 50);
    memset(deep + 50, ']', 50);
    assert_false(dlt_scan_value(&(const char *){deep}, &(struct dlt_token){0}));
}

static void texts_are_decoded_cleaned_and_cut_at_a_characters_edge(void **state)
{
    static const struct {
        const char *json, *text;
    } cases[] = {
        {"\"a\\\"b\\\\c\\/d\"", "a\"b\\c/d"},
        {"\"x\\ny\"", "x y"},
        {"\"\\u00e9\"", "\303\251"},
        {"\"\\ud83d\\ude00\"", "\360\237\230\200"}, /* a surrogate pair is one character */
        {"\"\\ud83d\"", "?"},
        {"\"\\u0000\\u0007\"", "??"},
        {"\"\303\251\"", "\303\251"},
        {"\"\377\301\"", "??"},
        {"\"\302\205\"", "?"},  /* a C1 control */
        {"\"\300\200\"", "??"}, /* overlong */
        {"\"\303\"", "?"},
        {"\"0123456789abcd\303\251\"", "0123456789abcd"}, /* two bytes do not fit behind it */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *cursor = cases[i].json;
        struct dlt_token token;
        char text[16];

        assert_true(dlt_scan_value(&cursor, &token));
        dlt_token_text(&token, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimal_numbers_are_read_as_strtod_reads_them),
        cmocka_unit_test(only_json_is_taken_for_json),
        cmocka_unit_test(texts_are_decoded_cleaned_and_cut_at_a_characters_edge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

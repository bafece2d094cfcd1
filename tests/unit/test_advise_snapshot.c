/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster snapshot as text: there and back, and nothing but what belongs there. */
#include <stdlib.h>
#include <string.h>

#include "../../plugin/advise/snapshot.h"
#include "test.h"

static const char good[] =
    "dltime-snapshot\t2\n"
    "cluster\tdev\t22.05.8\t1700000000\t64030\t1\t0\n"
    "partition\tv100\t1\t1\t0\t1\t2\t0\t3600\t604800\tphysics,math\t\t\tbig\n"
    "shape\t2\t40\t4\t402653184000\tv100\n"
    "partition\tcpu\t0\t0\t1\t0\t1\t1\t-\t-\t\tguests\t\t\n"
    "end\n";

static void what_is_written_is_read(void **state)
{
    struct dlt_snapshot *snapshot;
    struct dlt_error error;
    char *text = NULL;
    size_t size;
    FILE *stream;

    (void)state;
    assert_int_equal(dlt_snapshot_parse(good, strlen(good), &snapshot, &error), 0);
    assert_string_equal(snapshot->cluster, "dev");
    assert_string_equal(snapshot->slurm, "22.05.8");
    assert_int_equal(snapshot->slurm_uid, 64030);
    assert_true(snapshot->limits_enforced);
    assert_int_equal(snapshot->partition_count, 2);
    assert_string_equal(snapshot->partitions[0].shapes[0].gpu, "v100");
    assert_int_equal(snapshot->partitions[0].shapes[0].gpus, 4);
    assert_near(snapshot->partitions[0].default_time_s, 3600, 0);
    assert_true(isnan(snapshot->partitions[1].default_time_s));
    assert_true(isinf(snapshot->partitions[1].max_time_s));
    assert_true(snapshot->partitions[0].listed);
    assert_false(snapshot->partitions[1].listed);
    assert_string_equal(snapshot->partitions[0].allow_accounts.names, "physics,math");
    assert_string_equal(snapshot->partitions[0].deny_qos.names, "big");
    assert_string_equal(snapshot->partitions[1].deny_accounts.names, "guests");

    stream = open_memstream(&text, &size);
    assert_int_equal(dlt_snapshot_write(stream, snapshot), 0);
    fclose(stream);
    assert_string_equal(text, good);
    free(text);
    dlt_snapshot_destroy(snapshot);
}

/* Every cut, and each line made wrong, is refused and leaves nothing behind. */
static void a_cut_at_any_byte_is_refused(void **state)
{
    struct dlt_error error;

    (void)state;
    for (size_t size = 0; size < strlen(good) - 1; size++) {
        struct dlt_snapshot *snapshot = NULL;

        assert_int_equal(dlt_snapshot_parse(good, size, &snapshot, &error), -1);
        assert_null(snapshot);
    }
}

static void what_does_not_belong_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text, *line;
    } cases[] = {
        {"dltime-snapshot\t3\nend\n", "line 1"},
        {"dltime-snapshot\t2\nshape\t1\t1\t0\t-\t\nend\n", "line 2"},
        {"dltime-snapshot\t2\npartition\tx\t1\t0\t0\t1\t1\t0\t-\t-\t\t\t\nend\n", "line 2"},
        {"dltime-snapshot\t2\npartition\t\t1\t0\t0\t1\t1\t0\t-\t-\t\t\t\t\nend\n", "line 2"},
        {"dltime-snapshot\t2\npartition\tx\t2\t0\t0\t1\t1\t0\t-\t-\t\t\t\t\nend\n", "line 2"},
        {"dltime-snapshot\t2\npartition\tx\t1\t0\t0\t1\t-1\t0\t-\t-\t\t\t\t\nend\n", "line 2"},
        {"dltime-snapshot\t2\npartition\tx\t1\t0\t0\t1\t99999999999\t0\t-\t-\t\t\t\t\nend\n",
         "line 2"},
        {"dltime-snapshot\t2\npartition\tx\t1\t0\t0\t1\t1\t0\t-\t-\t\t\t\t\textra\nend\n",
         "line 2"},
        {"dltime-snapshot\t2\nnonsense\nend\n", "line 2"},
        {"dltime-snapshot\t2\n\nend\n", "line 2"},
        {"", "line 0"},
    };
    struct dlt_error error;
    struct dlt_snapshot *snapshot;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(
            dlt_snapshot_parse(cases[i].text, strlen(cases[i].text), &snapshot, &error), -1);
        assert_non_null(strstr(error.text, cases[i].line));
    }
    assert_int_equal(dlt_snapshot_parse("dltime-snapshot\t2\nen\0d\nend\n", 27, &snapshot, &error),
                     -1);
}

static void endless_input_is_refused(void **state)
{
    size_t size = DLT_SNAPSHOT_BYTES_MAX + 1;
    char *text = malloc(size);
    struct dlt_snapshot *snapshot;
    struct dlt_error error;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', size);
    assert_int_equal(dlt_snapshot_parse(text, size, &snapshot, &error), -1);
    memset(text, '\n', size);
    assert_int_equal(dlt_snapshot_parse(text, size, &snapshot, &error), -1);
    free(text);
}

static void
more_shapes_than_there_is_room_for_are_dropped_on_writing_and_refused_on_reading(void **state)
{
    struct dlt_snapshot *snapshot = dlt_snapshot_create();
    struct dlt_partition *partition = dlt_snapshot_add(snapshot);
    char text[2048] = "dltime-snapshot\t2\npartition\tx\t1\t0\t0\t1\t9\t0\t-\t-\t\t\t\t\n";
    struct dlt_error error;

    (void)state;
    for (int i = 0; i < 2 * DLT_SHAPES; i++) {
        dlt_partition_count_in(partition, &(struct dlt_shape){.cpus = i + 1}, 1);
        dlt_partition_count_in(partition, &(struct dlt_shape){.cpus = 1}, 1);
    }
    assert_int_equal(partition->shape_count, DLT_SHAPES);
    assert_int_equal(partition->shapes[0].nodes, 2 * DLT_SHAPES + 1);
    dlt_snapshot_destroy(snapshot);

    for (int i = 0; i <= DLT_SHAPES; i++)
        strcat(text, "shape\t1\t1\t0\t-\t\n");
    strcat(text, "end\n");
    assert_int_equal(dlt_snapshot_parse(text, strlen(text), &snapshot, &error), -1);
}

static void control_characters_are_not_written(void **state)
{
    struct dlt_snapshot *snapshot = dlt_snapshot_create();
    struct dlt_snapshot *again;
    struct dlt_error error;
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    (void)state;
    strcpy(dlt_snapshot_add(snapshot)->name, "a\tb\nc");
    assert_int_equal(dlt_snapshot_write(stream, snapshot), 0);
    fclose(stream);
    assert_int_equal(dlt_snapshot_parse(text, size, &again, &error), 0);
    assert_string_equal(again->partitions[0].name, "a?b?c");
    free(text);
    dlt_snapshot_destroy(snapshot);
    dlt_snapshot_destroy(again);
}

static void lists_that_do_not_fit_let_nobody_in_by_mistake(void **state)
{
    char names[2 * DLT_LIST_SIZE];
    struct dlt_list list;

    (void)state;
    dlt_list_set(&list, NULL, false);
    assert_string_equal(list.names, "");
    dlt_list_set(&list, "ALL", false);
    assert_string_equal(list.names, "");
    dlt_list_set(&list, "physics,math", true);
    assert_string_equal(list.names, "physics,math");
    memset(names, 'a', sizeof names - 1);
    names[sizeof names - 1] = '\0';
    dlt_list_set(&list, names, true);
    assert_string_equal(list.names, "*");
    dlt_list_set(&list, names, false);
    assert_string_equal(list.names, ",");
    memcpy(names, "physics,", 8);
    dlt_list_set(&list, names, false);
    assert_string_equal(list.names, "physics");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_cut_at_any_byte_is_refused),
        cmocka_unit_test(what_does_not_belong_is_refused_with_its_line),
        cmocka_unit_test(endless_input_is_refused),
        cmocka_unit_test(
            more_shapes_than_there_is_room_for_are_dropped_on_writing_and_refused_on_reading),
        cmocka_unit_test(control_characters_are_not_written),
        cmocka_unit_test(lists_that_do_not_fit_let_nobody_in_by_mistake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

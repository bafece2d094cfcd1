/* SPDX-License-Identifier: Apache-2.0 */
/* What a job asks for, from Slurm's texts, and what that comes to in a partition. */
#include <string.h>

#include "../../plugin/advise/options.h"
#include "../../plugin/advise/request.h"
#include "test.h"

static void gpus_are_read_in_every_way_that_slurm_writes_them(void **state)
{
    static const struct {
        const char *text;
        bool gpus_only;
        int count;
        const char *type;
    } cases[] = {
        {"gres:gpu:v100:4", false, 4, "v100"},
        {"gres:gpu:2", false, 2, ""},
        {"gpu", false, 1, ""},
        {"gpu:a100", false, 1, "a100"},
        {"gpu:v100:2(S:0-1)", false, 2, "v100"},
        {"gpu:a100:1,gpu:a100:2", false, 3, "a100"},
        {"gpu:a100:1,gpu:v100:1", false, 2, ""},
        {"craynetwork:3,gpu:2", false, 2, ""},
        {"shard:8", false, 0, ""},
        {"gres/gpu:v100:4", false, 4, "v100"},
        {"cpu=4,gres/gpu=2", false, 2, ""}, /* as TRES are named in accounting */
        {"gres/gpu:v100=2", false, 2, "v100"},
        {"gres:gpu:1g.10gb:2", false, 2, "1g.10gb"},
        {"gpu:nvidia_a100_80gb_pcie:8", false, 8, "nvidia_a100_80gb_pcie"},
        {"4", true, 4, ""},
        {"v100:2", true, 2, "v100"},
        {"", false, 0, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dlt_gpu_request gpus;

        assert_true(dlt_request_gpus(cases[i].text, cases[i].gpus_only, &gpus));
        assert_int_equal(gpus.count, cases[i].count);
        assert_string_equal(gpus.type, cases[i].type);
    }
}

static void nonsense_for_a_count_is_refused(void **state)
{
    static const char *const cases[] = {"gpu:v100:many", "gpu:v100:-1", "gpu:99999999",
                                        "gpu:a:b:c"};
    struct dlt_gpu_request gpus;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_false(dlt_request_gpus(cases[i], false, &gpus));
}

static const struct dlt_shape v100 = {.nodes = 2, .cpus = 40, .gpus = 4, .gpu = "v100"};
static const struct dlt_shape cpu2 = {.nodes = 1, .cpus = 2};

static void gpus_of_a_job_add_up_over_nodes_and_tasks(void **state)
{
    struct dlt_request request;
    struct dlt_placement placement;

    (void)state;
    dlt_request_init(&request);
    request.per_node.count = 2;
    request.nodes = 2;
    assert_true(dlt_request_place(&request, &v100, &placement));
    assert_int_equal(placement.devices, 4);
    assert_int_equal(placement.nodes, 2);

    dlt_request_init(&request);
    request.per_job.count = 8; /* no -N: two nodes of four */
    assert_true(dlt_request_place(&request, &v100, &placement));
    assert_int_equal(placement.nodes, 2);

    dlt_request_init(&request);
    request.per_task.count = 1;
    request.tasks = 4;
    request.cpus_per_task = 8;
    assert_true(dlt_request_place(&request, &v100, &placement));
    assert_int_equal(placement.devices, 4);
    assert_int_equal(placement.cpus, 32);

    dlt_request_init(&request);
    request.per_socket.count = 2;
    request.sockets_per_node = 2;
    assert_true(dlt_request_place(&request, &v100, &placement));
    assert_int_equal(placement.devices, 4);
}

/* Four GPUs would fit one node; sbatch(1) of --gpus-per-node: on each node of the allocation. */
static void gpus_of_the_job_and_of_each_node_make_the_nodes(void **state)
{
    const struct dlt_request cases[] = {
        {.per_job.count = 4, .per_node.count = 2},
        {.per_job.count = 4, .per_socket.count = 1, .sockets_per_node = 2},
        {.per_task.count = 1, .tasks = 4, .per_node.count = 2},
        {.per_job.count = 4, .per_node.count = 2, .nodes = 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dlt_placement placement;

        assert_true(dlt_request_place(&cases[i], &v100, &placement));
        assert_int_equal(placement.nodes, 2);
        assert_int_equal(placement.devices, 4);
    }
}

/* sbatch(1), -N: a minimum, or a minimum and a maximum. */
static void a_range_of_nodes_is_as_many_as_it_takes(void **state)
{
    static const struct dlt_shape many = {.nodes = 8, .cpus = 40, .gpus = 4};
    static const struct {
        struct dlt_request request;
        int nodes; /* 0: not placed */
    } cases[] = {
        {{.nodes = 1, .most_nodes = 2, .per_job.count = 6}, 2},
        {{.nodes = 1, .most_nodes = 2, .per_job.count = 4}, 1},
        {{.nodes = 1, .most_nodes = 2, .per_job.count = 9}, 0},
        {{.nodes = 1, .most_nodes = 1, .per_job.count = 6}, 0},
        {{.nodes = 2, .most_nodes = 4, .per_node.count = 1}, 2},
        {{.nodes = 1, .most_nodes = 4, .tasks = 100}, 3},
        {{.nodes = 1, .most_nodes = 2, .tasks = 100}, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dlt_placement placement;

        assert_int_equal(dlt_request_place(&cases[i].request, &many, &placement),
                         cases[i].nodes > 0);
        if (cases[i].nodes)
            assert_int_equal(placement.nodes, cases[i].nodes);
    }
}

static void what_does_not_fit_is_not_placed(void **state)
{
    struct dlt_request request;
    struct dlt_placement placement;

    (void)state;
    dlt_request_init(&request);
    request.per_node.count = 5;
    assert_false(dlt_request_place(&request, &v100, &placement));
    request.per_node.count = 1;
    request.nodes = 3;
    assert_false(dlt_request_place(&request, &v100, &placement));
    request.nodes = 0;
    strcpy(request.per_node.type, "a100");
    assert_false(dlt_request_place(&request, &v100, &placement));
    strcpy(request.per_node.type, "v100");
    assert_true(dlt_request_place(&request, &v100, &placement));
    assert_false(dlt_request_place(&request, &cpu2, &placement));
}

static void cpus_are_tasks_times_cpus_per_task(void **state)
{
    struct dlt_request request;
    struct dlt_placement placement;

    (void)state;
    dlt_request_init(&request);
    assert_true(dlt_request_place(&request, &cpu2, &placement));
    assert_int_equal(placement.cpus, 1);
    assert_int_equal(placement.devices, 1);
    request.tasks = 2;
    assert_true(dlt_request_place(&request, &cpu2, &placement));
    assert_int_equal(placement.cpus, 2);
    request.cpus_per_task = 2; /* four CPUs on one node of two */
    assert_false(dlt_request_place(&request, &cpu2, &placement));
    dlt_request_init(&request);
    request.exclusive = true;
    assert_true(dlt_request_place(&request, &cpu2, &placement));
    assert_int_equal(placement.cpus, 2);
}

static void absurd_numbers_do_not_overflow(void **state)
{
    struct dlt_request request;
    struct dlt_placement placement;

    (void)state;
    dlt_request_init(&request);
    request.tasks = 2000000000;
    request.cpus_per_task = 60000;
    request.per_task.count = 1000000;
    assert_false(dlt_request_place(&request, &v100, &placement));
    request.per_task.count = 0;
    assert_false(dlt_request_place(&request, &cpu2, &placement));
}

static void a_name_in_a_list_is_found_whole(void **state)
{
    (void)state;
    assert_true(dlt_list_has("a100,v100", "v100"));
    assert_true(dlt_list_has("v100", "v100"));
    assert_false(dlt_list_has("v100x,xv100", "v100"));
    assert_false(dlt_list_has("", "v100"));
}

static void access_follows_accounts_and_qos(void **state)
{
    static const struct {
        const char *account, *qos, *allow_accounts, *deny_accounts, *allow_qos, *deny_qos;
        bool listed;
        enum dlt_access access;
    } cases[] = {
        {"", "", "", "", "", "", true, DLT_ACCESS_OPEN},
        {"", "", "", "", "", "", false, DLT_ACCESS_CLOSED},
        {"physics", "", "physics,math", "", "", "", true, DLT_ACCESS_OPEN},
        {"guests", "", "physics,math", "", "", "", true, DLT_ACCESS_CLOSED},
        /* Whose account is not known may be refused. */
        {"", "", "physics,math", "", "", "", true, DLT_ACCESS_CLOSED},
        {"guests", "", "", "guests", "", "", true, DLT_ACCESS_CLOSED},
        {"physics", "", "", "guests", "", "", true, DLT_ACCESS_OPEN},
        {"", "", "", "guests", "", "", true, DLT_ACCESS_UNSURE},
        {"physics", "", "", "*", "", "", true, DLT_ACCESS_CLOSED},
        {"", "long", "", "", "long", "", true, DLT_ACCESS_OPEN},
        {"", "short", "", "", "long", "", true, DLT_ACCESS_CLOSED},
        {"", "long", "", "", "", "long", true, DLT_ACCESS_CLOSED},
        {"physics", "long", "physics", "", "short", "", true, DLT_ACCESS_CLOSED},
        {"physics", "", "physics", "", "", "long", true, DLT_ACCESS_UNSURE},
        /* Slurm refuses -A GUESTS and -q LONG like the others. */
        {"Physics", "", "physics,math", "", "", "", true, DLT_ACCESS_OPEN},
        {"GUESTS", "", "", "guests", "", "", true, DLT_ACCESS_CLOSED},
        {"", "LONG", "", "", "", "long", true, DLT_ACCESS_CLOSED},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dlt_partition partition = {.listed = cases[i].listed};
        struct dlt_request request;

        dlt_request_init(&request);
        strcpy(request.account, cases[i].account);
        strcpy(request.qos, cases[i].qos);
        strcpy(partition.allow_accounts.names, cases[i].allow_accounts);
        strcpy(partition.deny_accounts.names, cases[i].deny_accounts);
        strcpy(partition.allow_qos.names, cases[i].allow_qos);
        strcpy(partition.deny_qos.names, cases[i].deny_qos);
        assert_int_equal(dlt_request_access(&request, &partition), cases[i].access);
    }
}

static void a_constraint_is_held_against_features_where_it_is_plain(void **state)
{
    static const struct {
        const char *constraint, *features;
        enum dlt_access access;
    } cases[] = {
        {"", "", DLT_ACCESS_OPEN},
        {"", "a100", DLT_ACCESS_OPEN},
        {"a100", "a100,nvlink", DLT_ACCESS_OPEN},
        {"a100&nvlink", "a100,nvlink", DLT_ACCESS_OPEN},
        {"a100,nvlink", "nvlink,a100", DLT_ACCESS_OPEN},
        {"v100", "a100,nvlink", DLT_ACCESS_CLOSED},
        {"a100&v100", "a100,nvlink", DLT_ACCESS_CLOSED},
        {"a100", "", DLT_ACCESS_UNSURE},
        {"a100|v100", "a100", DLT_ACCESS_UNSURE},
        {"[rack1*2&rack2*4]", "rack1", DLT_ACCESS_UNSURE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dlt_request request;

        dlt_request_init(&request);
        strcpy(request.features, cases[i].constraint);
        assert_int_equal(dlt_request_features(&request, cases[i].features), cases[i].access);
    }
}

/* What sbatch of 20.11 hands out one by one; NULL ends it. */
static const char *const given[][2] = {{"partition", "v100,a100"},
                                       {"time", "1-00:00:00"},
                                       {"nodes", "2-4"},
                                       {"ntasks", "8"},
                                       {"ntasks-per-node", "4"},
                                       {"cpus-per-task", "5"},
                                       {"gres", "gres:gpu:v100:4"},
                                       {"gpus-per-task", "v100:1"},
                                       {"exclusive", "exclusive"},
                                       {"account", "physics"},
                                       {"qos", "long"},
                                       {"constraint", "nvlink"},
                                       {NULL, NULL}};

static bool get_given(void *context, const char *name, char *text, size_t size)
{
    (void)context;
    for (size_t i = 0; given[i][0]; i++) {
        if (strcmp(given[i][0], name) == 0) {
            snprintf(text, size, "%s", given[i][1]);
            return true;
        }
    }
    return false;
}

static bool get_nonsense(void *context, const char *name, char *text, size_t size)
{
    (void)name;
    snprintf(text, size, "%s", (const char *)context);
    return true;
}

static void options_are_read_one_by_one(void **state)
{
    struct dlt_request request;

    (void)state;
    dlt_request_init(&request);
    dlt_request_options(&request, get_given, NULL);
    assert_string_equal(request.partitions, "v100,a100");
    assert_near(request.time_s, 86400, 0);
    assert_int_equal(request.nodes, 2);
    assert_int_equal(request.most_nodes, 4);
    assert_int_equal(request.tasks, 8);
    assert_int_equal(request.tasks_per_node, 4);
    assert_int_equal(request.cpus_per_task, 5);
    assert_int_equal(request.per_node.count, 4);
    assert_string_equal(request.per_node.type, "v100");
    assert_int_equal(request.per_task.count, 1);
    assert_int_equal(request.per_job.count, 0);
    assert_true(request.exclusive);
    assert_string_equal(request.account, "physics");
    assert_string_equal(request.qos, "long");
    assert_string_equal(request.features, "nvlink");
}

static void options_that_are_not_understood_say_nothing(void **state)
{
    static const char *const texts[] = {"", "unset", "-", "-4", "99999999999", "x:y:z"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct dlt_request request;

        dlt_request_init(&request);
        dlt_request_options(&request, get_nonsense, (void *)texts[i]);
        assert_int_equal(request.nodes, 0);
        assert_int_equal(request.tasks, 0);
        assert_false(request.exclusive);
        assert_false(request.time_s <= 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_are_read_in_every_way_that_slurm_writes_them),
        cmocka_unit_test(nonsense_for_a_count_is_refused),
        cmocka_unit_test(gpus_of_a_job_add_up_over_nodes_and_tasks),
        cmocka_unit_test(gpus_of_the_job_and_of_each_node_make_the_nodes),
        cmocka_unit_test(a_range_of_nodes_is_as_many_as_it_takes),
        cmocka_unit_test(what_does_not_fit_is_not_placed),
        cmocka_unit_test(cpus_are_tasks_times_cpus_per_task),
        cmocka_unit_test(absurd_numbers_do_not_overflow),
        cmocka_unit_test(a_name_in_a_list_is_found_whole),
        cmocka_unit_test(access_follows_accounts_and_qos),
        cmocka_unit_test(a_constraint_is_held_against_features_where_it_is_plain),
        cmocka_unit_test(options_are_read_one_by_one),
        cmocka_unit_test(options_that_are_not_understood_say_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a job asks for, from Slurm's texts, and what that comes to in a partition. */
#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_are_read_in_every_way_that_slurm_writes_them),
        cmocka_unit_test(nonsense_for_a_count_is_refused),
        cmocka_unit_test(gpus_of_a_job_add_up_over_nodes_and_tasks),
        cmocka_unit_test(what_does_not_fit_is_not_placed),
        cmocka_unit_test(cpus_are_tasks_times_cpus_per_task),
        cmocka_unit_test(absurd_numbers_do_not_overflow),
        cmocka_unit_test(a_name_in_a_list_is_found_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

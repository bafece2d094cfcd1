/* SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>

#include "base/error.h"
#include "measure/measurements.h"
#include "measure_files.h"

static double random_time(void)
{
    return (double)(random_below(999999) + 1) * pow(10, (double)random_below(8) - 10);
}

static void random_field(struct dlt_record *record, const struct dlt_field *field)
{
    int64_t *value = dlt_record_field(record, field);
    int dims = record->kind->dims;

    switch (field->type) {
    case DLT_FIELD_INT:
        *value = random_below(8) ? random_below(4096) + 1 : random_below(1 << 24) + 1;
        break;
    case DLT_FIELD_BOOL:
        *value = random_below(2);
        break;
    case DLT_FIELD_LIST:
        for (int d = 0; d < dims; d++)
            value[d] = random_below(16) + 1;
        break;
    case DLT_FIELD_PADDING:
        for (int d = 0; d < 2 * dims; d++)
            value[d] = random_below(16);
        break;
    case DLT_FIELD_NAME:
        *value = random_below((int64_t)field->name_count);
        break;
    }
}

/* A transposed convolution's output, one of those that its other sizes allow. */
static void cover(struct dlt_spatial *s, int d)
{
    int64_t most = s->stride[d] > s->dilation[d] ? s->stride[d] : s->dilation[d];

    if (s->out_size[d] > 0)
        s->out_size[d] = (s->in_size[d] - 1) * s->stride[d] + s->dilation[d] * (s->kernel[d] - 1) +
                         1 - s->padding[d][0] - s->padding[d][1] + random_below(most);
}

static struct dlt_measurement random_measurement(const struct dlt_record_kind *kind)
{
    struct dlt_measurement m;

    memset(&m, 0, sizeof m);
    do {
        m.record = dlt_record_make(kind);
        for (const struct dlt_field *field = kind->fields; field->name; field++)
            random_field(&m.record, field);
        if (kind->dims > 0 && random_below(2))
            m.record.u.spatial.groups = 1;
        for (int d = 0; d < kind->dims; d++)
            cover(&m.record.u.spatial, d);
    } while (dlt_record_check(&m.record, NULL));
    m.record.pass = (enum dlt_pass)random_below(DLT_PASSES);
    m.record.dtype = (enum dlt_dtype)random_below(DLT_DTYPES);
    m.record.math = (enum dlt_math)random_below(DLT_MATHS);
    m.record.layout = (enum dlt_layout)random_below(DLT_LAYOUTS);
    m.record.cache = (enum dlt_cache)random_below(DLT_CACHES);
    m.record.activation = (enum dlt_function)random_below(DLT_FUNCTIONS);
    m.record.optimizer = (enum dlt_optimizer)random_below(DLT_OPTIMIZERS);
    m.record.threads = (int)random_below(3) * 8;
    m.median_s = random_time();
    m.min_s = random_time();
    m.max_s = random_time();
    m.std_s = random_time();
    m.repeats = (int)random_below(9);
    m.disturbed = random_below(2);
    m.workspace_bytes = (double)random_below(1000) * 1048576;
    m.power_w = (double)random_below(700);
    return m;
}

static void expect_equal(const struct dlt_measurement *a, const struct dlt_measurement *b)
{
    assert_true(dlt_record_equal(&a->record, &b->record));
    assert_near(b->median_s, a->median_s, 1e-12 * a->median_s);
    assert_near(b->min_s, a->min_s, 1e-12 * a->min_s);
    assert_near(b->max_s, a->max_s, 1e-12 * a->max_s);
    assert_near(b->std_s, a->std_s, 1e-12 * a->std_s);
    assert_int_equal(a->repeats, b->repeats);
    assert_int_equal(a->disturbed, b->disturbed);
    assert_near(b->workspace_bytes, a->workspace_bytes, 1);
    assert_near(b->power_w, a->power_w, 1e-9);
}

static void write_random(struct dlt_measurement *written, size_t count)
{
    struct dlt_measure_header h = {.device.name = "a \"quoted\" \\ name", .source = "tests"};
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(dlt_measure_write_header(file, &h), 0);
    for (size_t i = 0; i < count; i++) {
        written[i] = random_measurement(dlt_record_kind_at(i % dlt_record_kind_count()));
        assert_int_equal(dlt_measure_write(file, &written[i]), 0);
    }
    assert_int_equal(fclose(file), 0);
}

static void read_back(const struct dlt_measurement *written, size_t count)
{
    struct dlt_measure_reader *reader;
    struct dlt_measurement m;
    struct dlt_error error;

    assert_int_equal(dlt_measure_open(path, &reader, &error), 0);
    assert_string_equal(dlt_measure_header(reader)->device.name, "a \"quoted\" \\ name");
    for (size_t i = 0; i < count; i++) {
        if (dlt_measure_next(reader, &m, NULL, &error) != 1)
            fail_msg("%s", error.text);
        expect_equal(&written[i], &m);
    }
    assert_int_equal(dlt_measure_next(reader, &m, NULL, &error), 0);
    dlt_measure_close(reader);
}

/* Values have six significant digits, which is what the writer keeps. */
static void what_is_written_reads_back_equal_for_every_operator(void **state)
{
    size_t count = 500 * dlt_record_kind_count();
    struct dlt_measurement *written = calloc(count, sizeof *written);

    (void)state;
    assert_non_null(written);
    write_random(written, count);
    read_back(written, count);
    free(written);
}

static void a_header_reads_back_equal(void **state)
{
    struct dlt_measure_header h, read;
    struct dlt_measure_reader *reader;
    FILE *file = fopen(path, "w");

    (void)state;
    memset(&h, 0, sizeof h);
    h.runs = true;
    strcpy(h.device.name, "AMD EPYC 9654 96-Core Processor");
    strcpy(h.device.vendor, "amd");
    strcpy(h.device.isa, "avx512_bf16");
    h.device.sockets = 2;
    h.device.cores = 192;
    h.device.clock_hz = 3.7e9;
    h.device.memory_bytes = 1536.0 * 1024 * 1024 * 1024;
    h.device.usable_bytes = 1500.5 * 1024 * 1024 * 1024;
    h.device.memory_bandwidth = 921.6e9;
    h.device.peak_bf16 = 45.4e12;
    strcpy(h.software.framework, "none");
    strcpy(h.software.backend, "onednn 2.6.3");
    strcpy(h.software.cuda, "12.1");
    h.software.timing = DLT_EVENTS_BATCHED;
    strcpy(h.source, "Gr\303\274\303\237e");
    assert_non_null(file);
    assert_int_equal(dlt_measure_write_header(file, &h), 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(dlt_measure_open(path, &reader, NULL), 0);
    read = *dlt_measure_header(reader);
    dlt_measure_close(reader);
    assert_true(read.runs);
    assert_memory_equal(read.device.name, h.device.name, sizeof h.device.name);
    assert_string_equal(read.device.isa, h.device.isa);
    assert_near(read.device.cores, h.device.cores, 0);
    assert_near(read.device.clock_hz, h.device.clock_hz, 1);
    assert_near(read.device.memory_bytes, h.device.memory_bytes, 1);
    assert_near(read.device.usable_bytes, h.device.usable_bytes, 1);
    assert_near(read.device.memory_bandwidth, h.device.memory_bandwidth, 1);
    assert_near(read.device.peak_bf16, h.device.peak_bf16, 1);
    assert_string_equal(read.software.backend, h.software.backend);
    assert_string_equal(read.software.cuda, h.software.cuda);
    assert_int_equal(read.software.timing, h.software.timing);
    assert_string_equal(read.source, h.source);
}

static void a_run_reads_back_equal(void **state)
{
    struct dlt_run run, read;
    struct dlt_measure_header h = {.runs = true};
    struct dlt_measure_reader *reader;
    FILE *file = fopen(path, "w");

    (void)state;
    memset(&run, 0, sizeof run);
    strcpy(run.model, "resnet50.onnx,epochs=90");
    strcpy(run.device, "Tesla V100-SXM2-16GB");
    strcpy(run.precision, "amp-float16");
    strcpy(run.optimizer, "sgd");
    strcpy(run.framework, "pytorch 2.1.0");
    strcpy(run.layout, "nhwc");
    strcpy(run.suspect, "mixed precision not effective");
    strcpy(run.unit, "images/s");
    run.pass = DLT_STEP;
    run.devices = 8;
    run.nodes = 2;
    run.threads = 4;
    run.batch = 256;
    run.sequence = 512;
    run.input[0] = 3;
    run.input[1] = run.input[2] = 224;
    run.forward_s = 0.101;
    run.step_s = 0.3125;
    run.elapsed_s = 12345.6;
    run.throughput = 6553.25;
    run.memory_bytes = 3033.5 * 1048576;
    assert_non_null(file);
    assert_int_equal(dlt_measure_write_header(file, &h), 0);
    assert_int_equal(dlt_measure_write_run(file, &run), 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(dlt_measure_open(path, &reader, NULL), 0);
    assert_int_equal(dlt_measure_next(reader, NULL, &read, NULL), 1);
    dlt_measure_close(reader);
    assert_near(read.forward_s, run.forward_s, 1e-12);
    assert_near(read.step_s, run.step_s, 1e-12);
    read.forward_s = run.forward_s;
    read.step_s = run.step_s;
    assert_memory_equal(&read, &run, sizeof run);
}

/* Makes a locale with a decimal comma and switches to it; false where this machine cannot. */
static bool use_comma_locale(void)
{
    char command[PATH_MAX + 64];
    char number[16];

    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>/dev/null",
             folder);
    setenv("LOCPATH", folder, 1);
    if (system(command) != 0 || !setlocale(LC_ALL, "de_DE.UTF-8"))
        return false;
    snprintf(number, sizeof number, "%.1f", 1.5);
    return strcmp(number, "1,5") == 0;
}

static void numbers_do_not_depend_on_the_locale(void **state)
{
    enum { ROWS = 200 };
    struct dlt_measurement written[ROWS];
    struct dlt_error error;

    (void)state;
    if (!use_comma_locale()) {
        setlocale(LC_ALL, "C");
        print_message("SKIPPED: no locale with a decimal comma can be made here\n");
        skip();
    }
    write_random(written, ROWS);
    read_back(written, ROWS);
    dlt_fail(&error, "%g epochs", 2.5);
    assert_string_equal(error.text, "2.5 epochs");
    setlocale(LC_ALL, "C");
    read_back(written, ROWS);
}

static void a_full_disk_is_told(void **state)
{
    struct dlt_measure_header h = {.device.name = "x"};
    FILE *full = fopen("/dev/full", "w");

    (void)state;
    if (!full) {
        print_message("SKIPPED: there is no /dev/full\n");
        skip();
    }
    setvbuf(full, NULL, _IONBF, 0);
    assert_int_equal(dlt_measure_write_header(full, &h), -1);
    fclose(full);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads_back_equal_for_every_operator),
        cmocka_unit_test(a_header_reads_back_equal),
        cmocka_unit_test(a_run_reads_back_equal),
        cmocka_unit_test(numbers_do_not_depend_on_the_locale),
        cmocka_unit_test(a_full_disk_is_told),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing 40,000 measurements: convolutions, the longest rows that there are. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "bench.h"
#include "measure/measurements.h"

enum { ROWS = 40000, REPEATS = 5 };

static char folder[] = "/tmp/dltime-bench-XXXXXX";

static void fail(const char *sentence)
{
    fprintf(stderr, "bench_measurements: %s\n", sentence);
    exit(2);
}

/* Rows that look like a sampler's: no two alike. */
static void write_rows(const char *path)
{
    const struct dlt_measure_header header = {.device.name = "Benchmark",
                                              .software.timing = DLT_EVENTS_BATCHED};
    FILE *file = fopen(path, "w");
    struct dlt_measurement m;

    if (!file)
        fail("no temporary file can be written");
    memset(&m, 0, sizeof m);
    m.record = dlt_record_make(dlt_record_kind_find("conv2d"));
    m.repeats = 5;
    dlt_measure_write_header(file, &header);
    srand(1);
    for (int i = 0; i < ROWS; i++) {
        struct dlt_spatial *s = &m.record.u.spatial;

        s->batch = rand() % 64 + 1;
        s->in_channels = rand() % 512 + 1;
        s->out_channels = rand() % 512 + 1;
        s->in_size[0] = s->in_size[1] = rand() % 256 + 7;
        s->kernel[0] = s->kernel[1] = rand() % 7 + 1;
        s->padding[0][1] = rand() % 2;
        m.median_s = (rand() % 1000000 + 1) * 1e-8;
        m.min_s = 0.9 * m.median_s;
        m.max_s = 1.1 * m.median_s;
        m.std_s = 0.03 * m.median_s;
        dlt_measure_write(file, &m);
    }
    if (fclose(file))
        fail("no temporary file can be written");
}

static void compress_file(const char *from, const char *to)
{
    static char chunk[1 << 16];
    FILE *in = fopen(from, "r");
    gzFile out = gzopen(to, "w");
    size_t got;

    if (!in || !out)
        fail("no temporary file can be written");
    while ((got = fread(chunk, 1, sizeof chunk, in)) > 0)
        gzwrite(out, chunk, (unsigned)got);
    fclose(in);
    gzclose(out);
}

/* The least time of a few readings of the whole file. */
static double read_time(const char *path)
{
    double least = INFINITY;

    for (int repeat = 0; repeat < REPEATS; repeat++) {
        struct dlt_measure_reader *reader;
        struct dlt_measurement m;
        struct dlt_error error;
        double begin = bench_now();
        size_t rows = 0;

        if (dlt_measure_open(path, &reader, &error))
            fail(error.text);
        while (dlt_measure_next(reader, &m, NULL, &error) > 0)
            rows++;
        dlt_measure_close(reader);
        if (rows != ROWS)
            fail("rows were lost");
        least = fmin(least, bench_now() - begin);
    }
    return least;
}

int main(void)
{
    char plain[64], packed[64];
    double begin, before;

    if (!mkdtemp(folder))
        fail("no temporary folder can be made");
    snprintf(plain, sizeof plain, "%s/rows.jsonl", folder);
    snprintf(packed, sizeof packed, "%s/rows.jsonl.gz", folder);
    before = bench_peak_memory();
    begin = bench_now();
    write_rows(plain);
    bench_line("write 40,000 measurements", 1e3 * (bench_now() - begin), "ms", NAN);
    compress_file(plain, packed);
    bench_line("read 40,000 measurements", 1e3 * read_time(plain), "ms", 1000);
    bench_line("read 40,000 measurements, gzip", 1e3 * read_time(packed), "ms", 1000);
    bench_line("memory for that", (bench_peak_memory() - before) / 1024, "KiB", 4096);
    unlink(plain);
    unlink(packed);
    rmdir(folder);
    return bench_status();
}

/*
 * learned.h - measurements of a device that exists on paper only, whose times follow formulas that
 * tests know, and profiles learned from them.
 */
#ifndef DLT_TESTS_UNIT_LEARNED_H
#define DLT_TESTS_UNIT_LEARNED_H

#include <stdlib.h>
#include <string.h>

#include "learn/random.h"
#include "learn/train.h"
#include "test.h"

#define PAPER_FLOPS  5e12 /* sustained */
#define PAPER_BYTES  4e11 /* per second */
#define PAPER_LAUNCH 8e-6 /* seconds */

static inline struct dlt_device paper_device(const char *name)
{
    struct dlt_device device;

    memset(&device, 0, sizeof device);
    strcpy(device.name, name);
    strcpy(device.vendor, "nvidia");
    strcpy(device.architecture, "volta");
    device.compute_capability = 7.0;
    device.sms = 80;
    device.cores_per_sm = 64;
    device.clock_hz = 1.4e9;
    device.memory_bytes = 16e9;
    device.memory_bandwidth = 6e11;
    device.peak_fp32 = 1e13;
    return device;
}

/* What the paper device takes: launch + the larger of arithmetic and memory, per product. */
static inline double paper_time(const struct dlt_record *record)
{
    struct dlt_work work;

    dlt_record_work(record, &work);
    return PAPER_LAUNCH + fmax(work.flops / PAPER_FLOPS, work.bytes / PAPER_BYTES);
}

static inline int64_t draw(struct dlt_random *random, double low, double high)
{
    return (int64_t)nearbyint(low * pow(high / low, dlt_random_uniform(random)));
}

static inline struct dlt_record draw_dense(struct dlt_random *random)
{
    struct dlt_record record = dlt_record_make(dlt_record_kind_find("dense"));

    record.u.matmul.m = draw(random, 1, 128);
    record.u.matmul.k = draw(random, 32, 4096);
    record.u.matmul.n = draw(random, 32, 4096);
    return record;
}

static inline struct dlt_record draw_convolution(struct dlt_random *random)
{
    struct dlt_record record = dlt_record_make(dlt_record_kind_find("conv2d"));
    struct dlt_spatial *s = &record.u.spatial;
    int64_t size = draw(random, 7, 112);
    int64_t kernel = 1 + 2 * (int64_t)dlt_random_below(random, 3);

    s->batch = draw(random, 1, 64);
    s->in_channels = draw(random, 3, 512);
    s->out_channels = draw(random, 8, 512);
    for (int d = 0; d < 2; d++) {
        s->in_size[d] = size;
        s->kernel[d] = kernel;
    }
    dlt_spatial_pad_same(s, 2);
    return record;
}

static inline struct dlt_record draw_softmax(struct dlt_random *random)
{
    struct dlt_record record = dlt_record_make(dlt_record_kind_find("softmax"));

    record.u.rowwise.rows = draw(random, 16, 65536);
    record.u.rowwise.columns = draw(random, 16, 2048);
    return record;
}

/* Adds rows of one pass with a given relative noise. time: of a record; NULL: paper_time. */
static inline void add_rows(struct dlt_corpus *corpus, struct dlt_random *random, size_t count,
                            struct dlt_record (*drawn)(struct dlt_random *), enum dlt_pass pass,
                            enum dlt_optimizer optimizer, double noise,
                            double (*time)(const struct dlt_record *))
{
    corpus->row = realloc(corpus->row, (corpus->row_count + count) * sizeof *corpus->row);
    assert_non_null(corpus->row);
    for (size_t i = 0; i < count; i++) {
        struct dlt_row *row = &corpus->row[corpus->row_count++];
        double seconds;

        *row =
            (struct dlt_row){.record = drawn(random), .group = (uint32_t)corpus->group_count - 1};
        row->record.pass = pass;
        row->record.optimizer = optimizer;
        seconds = time ? time(&row->record) : paper_time(&row->record);
        row->seconds = seconds * exp(noise * dlt_random_normal(random));
        corpus->group[row->group].rows++;
    }
}

/* A further device; rows added after it are its. */
static inline void add_group(struct dlt_corpus *corpus, const char *name, int threads)
{
    struct dlt_group group;

    memset(&group, 0, sizeof group);
    group.device = paper_device(name);
    group.software.timing = DLT_EVENTS_SINGLE;
    strcpy(group.software.framework, "paper 1.0");
    group.threads = threads;
    corpus->group = realloc(corpus->group, (corpus->group_count + 1) * sizeof group);
    assert_non_null(corpus->group);
    corpus->group[corpus->group_count++] = group;
}

/* The bytes of a profile trained on the corpus. */
static inline void *trained_bytes(const struct dlt_corpus *corpus,
                                  const struct dlt_train_settings *settings, size_t *size)
{
    struct dlt_profile_writer writer = {0};
    struct dlt_error error;
    void *bytes;

    setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
    assert_int_equal(dlt_train(corpus, settings, &writer, &error), 0);
    assert_int_equal(dlt_profile_writer_bytes(&writer, &bytes, size, &error), 0);
    dlt_profile_writer_clear(&writer);
    return bytes;
}

static inline void *learned_bytes(const struct dlt_corpus *corpus, enum dlt_method method,
                                  uint64_t seed, int threads, size_t *size)
{
    const struct dlt_train_settings settings = {.method = method, .seed = seed, .threads = threads};

    return trained_bytes(corpus, &settings, size);
}

static inline struct dlt_profile *trained(const struct dlt_corpus *corpus,
                                          const struct dlt_train_settings *settings)
{
    struct dlt_profile *profile = NULL;
    struct dlt_error error;
    size_t size;
    void *bytes = trained_bytes(corpus, settings, &size);

    assert_int_equal(dlt_profile_from_memory(bytes, size, "paper.dlp", &profile, &error), 0);
    return profile;
}

static inline struct dlt_profile *learned(const struct dlt_corpus *corpus, enum dlt_method method)
{
    const struct dlt_train_settings settings = {.method = method, .seed = 1, .threads = 2};

    return trained(corpus, &settings);
}

#endif

/* measure_files.h - a folder of its own for each program that tests measurement files. */
#ifndef DLT_TESTS_UNIT_MEASURE_FILES_H
#define DLT_TESTS_UNIT_MEASURE_FILES_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

static char folder[] = "/tmp/dltime-measure-XXXXXX";
static char path[PATH_MAX];

static inline int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/file.jsonl", folder);
    return 0;
}

static inline int remove_folder(void **state)
{
    char command[PATH_MAX + 16];

    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static inline void write_bytes(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Numbers in [0, limit), the same in each run: xorshift64. */
static inline int64_t random_below(int64_t limit)
{
    static uint64_t random_state = 20240229;

    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)limit);
}

#endif

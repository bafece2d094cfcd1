/*
 * fuzz.h - what every fuzzer needs: its bytes as a file, and a name for what must hold.
 *
 * A fuzzer fails by a crash, by a report of a sanitizer, by a leak, by taking long or much memory,
 * or where must() does not hold.
 */
#ifndef DLT_TESTS_FUZZ_H
#define DLT_TESTS_FUZZ_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Of a target that changes its inputs itself; the first is libFuzzer's. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

#define must(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static char fuzz_folder[64];
static char fuzz_path[128];

static inline void fuzz_remove(void)
{
    unlink(fuzz_path);
    rmdir(fuzz_folder);
}

/* Writes the input to a file that only its owner may read, the same one each time. */
static inline const char *fuzz_file(const char *name, const uint8_t *data, size_t size)
{
    FILE *stream;

    if (!*fuzz_folder) {
        snprintf(fuzz_folder, sizeof fuzz_folder, "%s/dltime-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
        must(mkdtemp(fuzz_folder));
        snprintf(fuzz_path, sizeof fuzz_path, "%s/%s", fuzz_folder, name);
        atexit(fuzz_remove);
        umask(077);
    }
    stream = fopen(fuzz_path, "wb");
    must(stream && fwrite(data, 1, size, stream) == size);
    must(fclose(stream) == 0);
    return fuzz_path;
}

/* The sentence of a failure: there, bounded, on one line. */
static inline void fuzz_check_error(const struct dlt_error *error)
{
    size_t length = strnlen(error->text, sizeof error->text);

    must(length > 0 && length < sizeof error->text);
    for (size_t i = 0; i < length; i++)
        must((unsigned char)error->text[i] >= 0x20 && error->text[i] != 0x7f);
}

/* A number below `below`, of a target's own changes to its inputs. */
static inline unsigned fuzz_draw(unsigned *state, unsigned below)
{
    *state = *state * 1664525U + 1013904223U;
    return (*state >> 8) % below;
}

#endif

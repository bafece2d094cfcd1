/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Compiles the kernels for one target with NVRTC, the compiler that both CUDA toolkits have as a
 * library (CUDA 12's wheels have no other):
 *     cuda-compile SOURCE TARGET OUTPUT [OPTION]...
 * TARGET sm_75 makes machine code for compute capability 7.5, compute_75 makes PTX. OPTIONs are
 * NVRTC's.
 */
#include <errno.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPTIONS = 32 };

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    long size = -1;

    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size >= 0)
        text = calloc((size_t)size + 1, 1);
    rewind(file ? file : stdin);
    if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
        free(text);
        text = NULL;
    }
    if (!text)
        fprintf(stderr, "cuda-compile: %s: %s\n", path, strerror(errno));
    if (file)
        fclose(file);
    return text;
}

static int write_all(const char *path, const char *data, size_t size)
{
    FILE *file = fopen(path, "we");
    int failed = !file || fwrite(data, 1, size, file) != size;

    if (file && fclose(file))
        failed = 1;
    if (failed)
        fprintf(stderr, "cuda-compile: %s: %s\n", path, strerror(errno));
    return failed;
}

static void print_log(nvrtcProgram program)
{
    size_t size = 0;
    char *log;

    if (nvrtcGetProgramLogSize(program, &size) != NVRTC_SUCCESS || size <= 1)
        return;
    log = calloc(size + 1, 1);
    if (log && nvrtcGetProgramLog(program, log) == NVRTC_SUCCESS)
        fputs(log, stderr);
    free(log);
}

/* The image in memory of its own; NULL where there is none. */
static char *image_of(nvrtcProgram program, int ptx, size_t *size)
{
    char *image;
    nvrtcResult result = ptx ? nvrtcGetPTXSize(program, size) : nvrtcGetCUBINSize(program, size);

    if (result != NVRTC_SUCCESS || *size == 0)
        return NULL;
    image = calloc(*size, 1);
    if (!image)
        return NULL;
    result = ptx ? nvrtcGetPTX(program, image) : nvrtcGetCUBIN(program, image);
    if (result == NVRTC_SUCCESS)
        return image;
    free(image);
    return NULL;
}

static int compile(const char *source, const char *name, const char *target, const char *output,
                   int option_count, char **given)
{
    const char *options[MOST_OPTIONS];
    int ptx = strncmp(target, "compute_", 8) == 0, failed = 1;
    char architecture[64], *image;
    nvrtcProgram program;
    nvrtcResult result;
    size_t size = 0;

    snprintf(architecture, sizeof architecture, "--gpu-architecture=%s", target);
    options[0] = architecture;
    options[1] = "--std=c++17";
    for (int i = 0; i < option_count; i++)
        options[2 + i] = given[i];
    result = nvrtcCreateProgram(&program, source, name, 0, NULL, NULL);
    if (result == NVRTC_SUCCESS) {
        result = nvrtcCompileProgram(program, 2 + option_count, options);
        print_log(program);
        image = result == NVRTC_SUCCESS ? image_of(program, ptx, &size) : NULL;
        failed = !image || write_all(output, image, size);
        free(image);
        nvrtcDestroyProgram(&program);
    }
    if (failed)
        fprintf(stderr, "cuda-compile: %s for %s: %s\n", name, target, nvrtcGetErrorString(result));
    return failed;
}

int main(int argc, char **argv)
{
    char *source;
    int failed;

    if (argc < 4 || argc - 4 > MOST_OPTIONS - 2) {
        fprintf(stderr, "usage: cuda-compile SOURCE TARGET OUTPUT [OPTION]...\n");
        return 2;
    }
    source = read_text(argv[1]);
    if (!source)
        return 1;
    failed = compile(source, argv[1], argv[2], argv[3], argc - 4, argv + 4);
    free(source);
    return failed;
}

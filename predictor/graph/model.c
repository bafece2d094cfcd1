/* SPDX-License-Identifier: Apache-2.0 */
/* SPEC[,key=value]... to a model. */
#include "graph/model.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/known.h"
#include "base/paths.h"
#include "base/text.h"
#include "graph/alias.h"
#include "graph/loader.h"
#include "graph/training.h"

#define MOST_BYTES ((size_t)64 << 20)

static bool recognise_json(const unsigned char *begin, size_t size)
{
    size_t i = 0;

    while (i < size && strchr(" \t\r\n", begin[i]))
        i++;
    return i < size && (begin[i] == '{' || begin[i] == '[');
}

/* ModelProto begins with its ir_version, a small number, in all files that were ever written. */
static bool recognise_onnx(const unsigned char *begin, size_t size)
{
    return size > 1 && begin[0] == 0x08 && begin[1] < 0x80;
}

static const struct dlt_loader loaders[] = {
    {".json", recognise_json, dlt_spec_json_load, NULL},
    {".onnx", recognise_onnx, NULL, dlt_spec_onnx_load},
};
enum { LOADERS = sizeof loaders / sizeof *loaders };

static char models_folder[PATH_MAX];
static pthread_once_t models_folder_once = PTHREAD_ONCE_INIT;

static void find_models_folder(void)
{
    if (!dlt_path(DLT_FOLDER_DATA, "models", models_folder, sizeof models_folder))
        models_folder[0] = '\0';
}

const char *dlt_models_folder(void)
{
    pthread_once(&models_folder_once, find_models_folder);
    return models_folder;
}

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static bool is_file(const char *spec)
{
    if (strchr(spec, '/'))
        return true;
    for (size_t i = 0; i < LOADERS; i++)
        if (ends_in(spec, loaders[i].suffix))
            return true;
    return false;
}

/* The names of the shipped models; the caller frees each. */
static size_t shipped_names(const char *folder, char *names[], size_t most)
{
    size_t count = 0;
    DIR *stream = opendir(folder);
    const struct dirent *entry;

    while (stream && count < most && (entry = readdir(stream))) {
        if (!ends_in(entry->d_name, ".json"))
            continue;
        names[count] = DLT_KEPT(strndup(entry->d_name, strlen(entry->d_name) - strlen(".json")));
        if (names[count])
            count++;
    }
    if (stream)
        closedir(stream);
    return count;
}

static int model_path(const char *folder, const char *name, char path[PATH_MAX],
                      struct dlt_error *error)
{
    int length = snprintf(path, PATH_MAX, "%s/%s.json", folder, name);

    if (length < 0 || length >= PATH_MAX)
        return dlt_fail(error, "the model's name is too long");
    return 0;
}

/* No file has just this name: another spelling, another name, or an error that names the nearest.
 */
static int find_other(const char *name, const char *folder, char path[PATH_MAX],
                      struct dlt_error *error)
{
    enum { MOST = 512 };
    char *names[MOST];
    size_t count = shipped_names(folder, names, MOST);
    const char *found = dlt_alias_find(name), *nearest;
    int status;

    for (size_t i = 0; i < count && !found; i++)
        if (dlt_alias_same(name, names[i]))
            found = names[i];
    if (found) {
        status = model_path(folder, found, path, error);
    } else {
        nearest = dlt_text_nearest(name, (const char *const *)names, count);
        status =
            nearest
                ? dlt_fail(error, "%.80s: no model of that name is shipped; did you mean \"%s\"?",
                           name, nearest)
                : dlt_fail(error,
                           "%.80s: no model of that name is shipped (see dltime models); a "
                           "file's name contains a slash or ends in .json or .onnx",
                           name);
    }
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    return status;
}

/* What frameworks keep weights or programs in, which say a network only to them. */
static bool is_of_a_framework(const char *spec)
{
    static const char *const suffixes[] = {".py", ".pt",          ".pth",  ".ckpt",
                                           ".h5", ".safetensors", ".keras"};

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (ends_in(spec, suffixes[i]))
            return true;
    return false;
}

/* The file that a SPEC means. */
static int find_file(const char *spec, const char *folder, char path[PATH_MAX],
                     struct dlt_error *error)
{
    if (!*spec)
        return dlt_fail(error, "no model is named; write SPEC[,key=value]...");
    if (is_of_a_framework(spec))
        return dlt_fail(error,
                        "%.80s: a network is read from JSON, ONNX or a Hugging Face config.json; a "
                        "Python that has torch writes ONNX: dltime-torch-export FILE.py:CALLABLE",
                        spec);
    if (is_file(spec)) {
        if (!dlt_text_copy(path, PATH_MAX, spec))
            return dlt_fail(error, "the name of the model's file is too long");
        return 0;
    }
    if (model_path(folder, spec, path, error))
        return -1;
    return access(path, F_OK) ? find_other(spec, folder, path, error) : 0;
}

/* Without the blanks around it, which a SPEC in quotes may have; cuts the text. */
static char *without_blanks(char *text)
{
    size_t length;

    text += strspn(text, " \t");
    length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        text[--length] = '\0';
    return text;
}

/* key=value, separated by commas; cuts the text up. */
static int apply_keys(struct dlt_model *model, char *keys, struct dlt_error *error)
{
    struct dlt_training_seen seen = {0};

    while (keys) {
        char *pair = without_blanks(strsep(&keys, ","));
        char *value = strchr(pair, '=');

        if (!value || value == pair)
            return dlt_fail(error, "\"%.80s\" is not key=value", pair);
        *value++ = '\0';
        if (dlt_training_apply(&model->training, &seen, without_blanks(pair), without_blanks(value),
                               error))
            return -1;
    }
    return 0;
}

/* The file's name without folders and suffix. */
static char *stem(const char *path)
{
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const char *dot = strrchr(base, '.');

    return strndup(base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
}

/* By the name's end, else by the first bytes; what looks like nothing is taken for JSON. */
static const struct dlt_loader *loader_of(const char *path, int fd)
{
    unsigned char begin[256];
    ssize_t got = pread(fd, begin, sizeof begin, 0);

    for (size_t i = 0; i < LOADERS; i++)
        if (ends_in(path, loaders[i].suffix))
            return &loaders[i];
    for (size_t i = 0; got > 0 && i < LOADERS; i++)
        if (loaders[i].recognise(begin, (size_t)got))
            return &loaders[i];
    return &loaders[0];
}

static int load_text(struct dlt_model *model, const struct dlt_loader *loader,
                     struct dlt_error *error)
{
    char *data = NULL;
    size_t size = 0, mark;
    int status;

    if (dlt_file_read(model->path, MOST_BYTES, &data, &size, error))
        return -1;
    mark = dlt_text_mark(data, size);
    status = loader->text(model, data + mark, size - mark, error);
    free(data);
    return status ? dlt_fail_in(error, "%s: ", model->path) : 0;
}

static int load_file(struct dlt_model *model, struct dlt_error *error)
{
    const struct dlt_loader *loader;
    int64_t size;
    int status;
    int fd = dlt_file_open(model->path, &size, error);

    if (fd < 0)
        return -1;
    loader = loader_of(model->path, fd);
    if (loader->text) {
        status = load_text(model, loader, error);
    } else {
        status = loader->file(model, fd, size, error);
        if (status)
            dlt_fail_in(error, "%s: ", model->path);
    }
    close(fd);
    if (status)
        return -1;
    if (!model->name && !(model->name = stem(model->path)))
        return dlt_fail_memory(error);
    return 0;
}

int dlt_model_load(const char *spec, const char *models_dir, struct dlt_model **model,
                   struct dlt_error *error)
{
    struct dlt_model *m = calloc(1, sizeof *m);
    struct dlt_graph *graph = NULL;
    char *name = strdup(spec);
    char path[PATH_MAX];
    char *keys;

    *model = NULL;
    if (!m || !name) {
        dlt_fail_memory(error);
        goto fail;
    }
    keys = strchr(name, ',');
    if (keys)
        *keys++ = '\0';
    dlt_training_defaults(&m->training);
    if (find_file(name, models_dir ? models_dir : dlt_models_folder(), path, error))
        goto fail;
    m->path = strdup(path);
    if (!m->path) {
        dlt_fail_memory(error);
        goto fail;
    }
    if (load_file(m, error))
        goto fail;
    if (apply_keys(m, keys, error)) {
        dlt_fail_in(error, "%.80s: ", name);
        goto fail;
    }
    /* Everything that can be wrong with the network is found now. */
    if (dlt_model_graph(m, 1, &graph, error))
        goto fail;
    dlt_graph_destroy(graph);
    free(name);
    *model = m;
    return 0;
fail:
    free(name);
    dlt_model_destroy(m);
    return -1;
}

void dlt_model_destroy(struct dlt_model *model)
{
    if (!model)
        return;
    if (model->source)
        model->source->destroy(model->source);
    free(model->name);
    free(model->path);
    free(model);
}

const char *dlt_model_name(const struct dlt_model *model)
{
    return model->name;
}

int dlt_model_graph(const struct dlt_model *model, int64_t batch, struct dlt_graph **graph,
                    struct dlt_error *error)
{
    if (batch < 1 || batch > INT32_MAX)
        return dlt_fail(error, "%s: a batch of %lld; it ranges from 1 to 2147483647", model->name,
                        (long long)batch);
    if (model->source->graph(model->source, model->name, batch, model->training.seq, graph, error))
        return dlt_fail_in(error, "%s: ", model->path);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/history.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/json.h"
#include "base/text.h"

enum { FILE_LIMIT = 16 << 20, VERSION = 1 };

int dlt_history_add(struct dlt_history *history, const struct dlt_correction *correction)
{
    if (dlt_grow(&history->correction, sizeof *history->correction, history->count, 1,
                 &history->room))
        return -1;
    history->correction[history->count++] = *correction;
    return 0;
}

const struct dlt_correction *dlt_history_find(const struct dlt_history *history, uint64_t network,
                                              const char *partition)
{
    const struct dlt_correction *any = NULL;

    for (size_t i = 0; history && i < history->count; i++) {
        const struct dlt_correction *c = &history->correction[i];

        if ((c->network != 0 && c->network != network) || strcmp(c->partition, partition) != 0)
            continue;
        if (c->network != 0)
            return c;
        any = c;
    }
    return any;
}

/* "any", or 16 hexadecimal digits that are not all 0. */
static bool network_of(const char *text, uint64_t *network)
{
    char *end;

    *network = 0;
    if (strcmp(text, "any") == 0)
        return true;
    if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return false;
    *network = strtoull(text, &end, 16);
    return *network != 0;
}

static int read_correction(struct json_object *object, size_t index, struct dlt_history *history,
                           struct dlt_error *error)
{
    struct dlt_correction c = {0};

    if (!json_object_is_type(object, json_type_object) ||
        !network_of(dlt_json_get_text(object, "network"), &c.network) ||
        !dlt_text_copy(c.partition, sizeof c.partition, dlt_json_get_text(object, "partition")) ||
        !c.partition[0] ||
        !dlt_json_get_number(object, "factor", DLT_FACTOR_LEAST, DLT_FACTOR_MOST, &c.factor) ||
        !dlt_json_get_number(object, "jobs", 0, 1e12, &c.jobs) ||
        !dlt_json_get_number(object, "users", 0, 1e12, &c.users))
        return dlt_fail(error,
                        "corrections[%zu]: network, partition, factor (%g to %g), jobs and users "
                        "are not all there; run dltime learn again",
                        index, DLT_FACTOR_LEAST, DLT_FACTOR_MOST);
    return dlt_history_add(history, &c) ? dlt_fail_memory(error) : 0;
}

static int read_root(struct json_object *root, struct dlt_history *history, struct dlt_error *error)
{
    struct json_object *array = dlt_json_get_array(root, "corrections");
    double version;

    if (!json_object_is_type(root, json_type_object) ||
        strcmp(dlt_json_get_text(root, "format"), "dltime-history") != 0)
        return dlt_fail(error, "holds no corrections; `dltime learn` writes them");
    if (!dlt_json_get_number(root, "version", 1, VERSION, &version))
        return dlt_fail(error, "was written by another version of dltime; run dltime learn again");
    if (!array)
        return dlt_fail(error, "corrections: is missing; run dltime learn again");
    for (size_t i = 0; i < json_object_array_length(array); i++)
        if (read_correction(json_object_array_get_idx(array, i), i, history, error))
            return -1;
    return 0;
}

int dlt_history_load(const char *path, struct dlt_history **history, struct dlt_error *error)
{
    struct json_object *root;
    struct dlt_history *h;
    int result;

    *history = NULL;
    if (dlt_json_read(path, FILE_LIMIT, &root, error))
        return -1;
    h = calloc(1, sizeof *h);
    if (!h)
        result = dlt_fail_memory(error);
    else if ((result = read_root(root, h, error)))
        dlt_fail_in(error, "%s: ", path);
    json_object_put(root);
    if (result == 0)
        *history = h;
    else
        dlt_history_destroy(h);
    return result;
}

int dlt_history_save(const struct dlt_history *history, const char *path,
                     const struct dlt_history_owner *owner, struct dlt_error *error)
{
    struct json_object *root, *array;
    struct dlt_file_writer file;

    if (dlt_file_create(&file, path, error))
        return -1;
    if (fchmod(file.fd, owner->mode) ||
        (owner->given && fchown(file.fd, owner->user, owner->group))) {
        dlt_fail(error, "%s: its owner and permissions cannot be set: %s", path, strerror(errno));
        dlt_file_abandon(&file);
        return -1;
    }
    root = json_object_new_object();
    array = json_object_new_array();
    for (size_t i = 0; i < history->count; i++) {
        const struct dlt_correction *c = &history->correction[i];
        struct json_object *object = json_object_new_object();
        char network[24] = "any";

        if (c->network)
            snprintf(network, sizeof network, "%016" PRIx64, c->network);
        dlt_json_text(object, "network", network);
        dlt_json_text(object, "partition", c->partition);
        dlt_json_number(object, "factor", c->factor);
        dlt_json_number(object, "jobs", c->jobs);
        dlt_json_number(object, "users", c->users);
        json_object_array_add(array, object);
    }
    dlt_json_text(root, "format", "dltime-history");
    dlt_json_count(root, "version", VERSION);
    dlt_json_text(root, "dltime", DLT_VERSION);
    json_object_object_add(root, "corrections", array);
    dlt_json_print(file.stream, root);
    json_object_put(root);
    return dlt_file_commit(&file, error);
}

void dlt_history_destroy(struct dlt_history *history)
{
    if (history)
        free(history->correction);
    free(history);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

enum { FILE_LIMIT = 4 << 20, VERSION = 1, NETWORKS = 10000 };

const char *const dlt_scaling_factor_names[DLT_SCALING_FACTORS] = {"parallel", "half", "devices",
                                                                   "nodes"};

void dlt_scaling_factors(const struct dlt_scaling_case *c, double factor[DLT_SCALING_FACTORS])
{
    bool parallel = c->devices > 1;

    factor[DLT_FACTOR_PARALLEL] = parallel ? M_E : 1;
    factor[DLT_FACTOR_HALF] = parallel && c->half ? M_E : 1;
    factor[DLT_FACTOR_DEVICES] = parallel ? c->devices : 1;
    factor[DLT_FACTOR_NODES] = parallel && c->nodes > 1 ? c->nodes : 1;
}

void dlt_scaling_terms(const struct dlt_scaling_case *c, double term[3])
{
    bool parallel = c->devices > 1;

    term[0] = parallel;
    term[1] = parallel ? log2(c->devices / 2.0) : 0;
    term[2] = parallel && c->half;
}

static const struct dlt_scaling_network *find_network(const struct dlt_scaling *scaling,
                                                      const char *name)
{
    for (size_t i = 0; name && i < scaling->network_count; i++)
        if (strcmp(scaling->network[i].name, name) == 0)
            return &scaling->network[i];
    return NULL;
}

double dlt_scaling_slowdown(const struct dlt_scaling *scaling, const struct dlt_scaling_case *c)
{
    const struct dlt_scaling_network *network = find_network(scaling, c->network);
    double factor[DLT_SCALING_FACTORS], term[3], log_ratio;

    if (c->devices < 2)
        return 1;
    dlt_scaling_factors(c, factor);
    dlt_scaling_terms(c, term);
    log_ratio = scaling->ring_share * log(c->ring);
    for (int f = 0; f < DLT_SCALING_FACTORS; f++)
        log_ratio += scaling->exponent[f] * log(factor[f]);
    if (network)
        log_ratio +=
            network->offset * term[0] + network->doubling * term[1] + network->half * term[2];
    return exp(log_ratio);
}

static int read_factors(struct json_object *root, struct dlt_scaling *s, struct dlt_error *error)
{
    struct json_object *factors = dlt_json_get_array(root, "factors");

    for (int f = 0; f < DLT_SCALING_FACTORS; f++) {
        struct json_object *factor = NULL;

        for (size_t i = 0; factors && i < json_object_array_length(factors); i++) {
            struct json_object *at = json_object_array_get_idx(factors, i);

            if (json_object_is_type(at, json_type_object) &&
                strcmp(dlt_json_get_text(at, "name"), dlt_scaling_factor_names[f]) == 0)
                factor = at;
        }
        if (!factor || !dlt_json_get_number(factor, "exponent", -10, 10, &s->exponent[f]))
            return dlt_fail(error, "factors: \"%s\" with its exponent is missing",
                            dlt_scaling_factor_names[f]);
        if (!dlt_json_get_number(factor, "low", -10, 10, &s->low[f]))
            s->low[f] = NAN;
        if (!dlt_json_get_number(factor, "high", -10, 10, &s->high[f]))
            s->high[f] = NAN;
    }
    return 0;
}

static int read_networks(struct json_object *root, struct dlt_scaling *s, struct dlt_error *error)
{
    struct json_object *networks = dlt_json_get_array(root, "networks");
    size_t count = networks ? json_object_array_length(networks) : 0;

    if (count > NETWORKS)
        return dlt_fail(error, "networks: holds more than %d", NETWORKS);
    s->network = calloc(count + 1, sizeof *s->network);
    if (!s->network)
        return dlt_fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        struct json_object *at = json_object_array_get_idx(networks, i);
        struct dlt_scaling_network *n = &s->network[i];

        if (!json_object_is_type(at, json_type_object) ||
            !dlt_text_copy(n->name, sizeof n->name, dlt_json_get_text(at, "name")) || !n->name[0] ||
            !dlt_json_get_number(at, "offset", -10, 10, &n->offset) ||
            !dlt_json_get_number(at, "doubling", -10, 10, &n->doubling) ||
            !dlt_json_get_number(at, "half", -10, 10, &n->half) ||
            !dlt_json_get_number(at, "runs", 0, 1e9, &n->runs))
            return dlt_fail(error,
                            "networks[%zu]: name, offset, doubling, half and runs are not all "
                            "there",
                            i);
        s->network_count++;
    }
    return 0;
}

static int read_root(struct json_object *root, struct dlt_scaling *s, struct dlt_error *error)
{
    double version;

    if (!json_object_is_type(root, json_type_object) ||
        strcmp(dlt_json_get_text(root, "format"), "dltime-scaling") != 0)
        return dlt_fail(error, "is no scaling file; `dltime scaling` writes one");
    if (!dlt_json_get_number(root, "version", 1, INFINITY, &version) || version > VERSION)
        return dlt_fail(error, "was written by another version of dltime; fit it again");
    if (!dlt_json_get_number(root, "ring_share", 0, 1, &s->ring_share) ||
        !dlt_json_get_number(root, "sigma", 0, 10, &s->sigma) ||
        !dlt_json_get_number(root, "cases", 1, 1e9, &s->cases))
        return dlt_fail(error, "ring_share, sigma and cases are not all there; fit it again");
    if (!dlt_json_get_number(root, "held_out", 0, INFINITY, &s->held_out))
        s->held_out = NAN;
    return read_factors(root, s, error) || read_networks(root, s, error) ? -1 : 0;
}

int dlt_scaling_load(const char *path, struct dlt_scaling **scaling, struct dlt_error *error)
{
    struct json_object *root;
    struct dlt_scaling *s;
    int result;

    *scaling = NULL;
    if (dlt_json_read(path, FILE_LIMIT, &root, error))
        return -1;
    s = calloc(1, sizeof *s);
    if (!s)
        result = dlt_fail_memory(error);
    else if ((result = read_root(root, s, error)))
        dlt_fail_in(error, "%s: ", path);
    json_object_put(root);
    if (result == 0)
        *scaling = s;
    else
        dlt_scaling_destroy(s);
    return result;
}

static struct json_object *factors_json(const struct dlt_scaling *s)
{
    struct json_object *factors = json_object_new_array();

    for (int f = 0; f < DLT_SCALING_FACTORS; f++) {
        struct json_object *factor = json_object_new_object();

        dlt_json_text(factor, "name", dlt_scaling_factor_names[f]);
        dlt_json_number(factor, "exponent", s->exponent[f]);
        dlt_json_number(factor, "low", s->low[f]);
        dlt_json_number(factor, "high", s->high[f]);
        json_object_array_add(factors, factor);
    }
    return factors;
}

static struct json_object *networks_json(const struct dlt_scaling *s)
{
    struct json_object *networks = json_object_new_array();

    for (size_t i = 0; i < s->network_count; i++) {
        struct json_object *network = json_object_new_object();

        dlt_json_text(network, "name", s->network[i].name);
        dlt_json_number(network, "offset", s->network[i].offset);
        dlt_json_number(network, "doubling", s->network[i].doubling);
        dlt_json_number(network, "half", s->network[i].half);
        dlt_json_count(network, "runs", s->network[i].runs);
        json_object_array_add(networks, network);
    }
    return networks;
}

int dlt_scaling_save(const struct dlt_scaling *s, const char *source, const char *path,
                     struct dlt_error *error)
{
    struct json_object *root = json_object_new_object();
    struct dlt_file_writer file;
    int result = dlt_file_create(&file, path, error);

    if (result == 0) {
        dlt_json_text(root, "format", "dltime-scaling");
        dlt_json_count(root, "version", VERSION);
        dlt_json_text(root, "dltime", DLT_VERSION);
        dlt_json_text(root, "source", source);
        dlt_json_count(root, "cases", s->cases);
        dlt_json_number(root, "held_out", s->held_out);
        dlt_json_number(root, "sigma", s->sigma);
        dlt_json_number(root, "ring_share", s->ring_share);
        json_object_object_add(root, "factors", factors_json(s));
        json_object_object_add(root, "networks", networks_json(s));
        dlt_json_print(file.stream, root);
        result = dlt_file_commit(&file, error);
    }
    json_object_put(root);
    return result;
}

void dlt_scaling_destroy(struct dlt_scaling *scaling)
{
    if (scaling)
        free(scaling->network);
    free(scaling);
}

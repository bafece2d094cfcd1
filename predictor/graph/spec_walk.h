/*
 * spec_walk.h - where the reading of a JSON spec's layers stands, and what names mean there.
 */
#ifndef DLT_GRAPH_SPEC_WALK_H
#define DLT_GRAPH_SPEC_WALK_H

#include "graph/names.h"
#include "graph/spec_json.h"

enum { DLT_WALK_INPUTS = 1024 };

/* Where the walk stands. Names are kept in full ("block[2].c1"); prefix is that of the innermost
 * block, and scope[] the lengths of the prefixes around it. */
struct dlt_walk {
    struct dlt_spec_path *path;
    struct dlt_builder *builder;
    struct dlt_names names;
    struct dlt_error *error;
    int64_t seq;
    char prefix[DLT_SPEC_PATH];
    size_t prefix_length;
    size_t scope[DLT_SPEC_DEPTH + 1];
    size_t depth;
    int current;     /* the tensor that "@" means; -1: ambiguous */
    int block_input; /* the tensor that "@input" means */
    bool frozen;
    int reference[DLT_WALK_INPUTS];
    size_t references;
};

/* All of them return 0, or -1 with walk->error filled, the place included. */

/* The full name of a local one, behind the first `prefix` bytes of the walk's prefix. */
int dlt_walk_name(struct dlt_walk *walk, size_t prefix, const char *local,
                  char full[DLT_SPEC_PATH]);
/* What a name means here: looked for in the innermost block first, then outwards; NULL: nothing. */
const struct dlt_name *dlt_walk_find(struct dlt_walk *walk, const char *local);
/* No such layer; names the nearest. */
int dlt_walk_fail_reference(struct dlt_walk *walk, const char *text);
/* Fills walk->reference from a layer's "inputs", or with "@". */
int dlt_walk_inputs(struct dlt_walk *walk, json_object *layer);
/* Adds the network's inputs, from the document's "input" or "inputs". */
int dlt_walk_add_inputs(struct dlt_walk *walk, json_object *root);
/* Makes a name known; refuses one that is taken. tensor -1: a block that is being read. */
int dlt_walk_register(struct dlt_walk *walk, const char *local, int tensor, int node);

#endif

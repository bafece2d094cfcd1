/*
 * members.h - which JSON member is which field of a struct: tables that reader and writer share.
 */
#ifndef DLT_MEASURE_MEMBERS_H
#define DLT_MEASURE_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>

enum dlt_member_type {
    DLT_MEMBER_TEXT,    /* char[size] */
    DLT_MEMBER_REAL,    /* double; the file's number times `scale` */
    DLT_MEMBER_VERSION, /* double; "7.0" in the file */
    DLT_MEMBER_INT,     /* int */
    DLT_MEMBER_INT64,   /* int64_t */
    DLT_MEMBER_SHAPE,   /* int64_t[size], ended by 0 where shorter */
    DLT_MEMBER_BOOL,    /* bool */
    DLT_MEMBER_NAME     /* enumeration, one of names */
};

struct dlt_member {
    const char *name;
    enum dlt_member_type type;
    size_t offset, size;
    double scale;
    const char *const *names;
    bool required; /* the reader insists on it */
    bool signed_;  /* may be below zero */
    bool always;   /* written although it is zero or empty */
    bool whole;    /* text that must not be cut to fit */
    bool lenient;  /* a name that is not known makes the row an unknown one, not a wrong one */
};

/* Ended by a NULL name. An alias stands behind the member whose field it shares: it is read where
 * that one is absent, and never written. */
extern const struct dlt_member dlt_device_members[];   /* struct dlt_device */
extern const struct dlt_member dlt_software_members[]; /* struct dlt_software */
extern const struct dlt_member dlt_row_members[]; /* struct dlt_measurement, `kind` fields apart */
extern const struct dlt_member dlt_run_members[]; /* struct dlt_run */

#endif

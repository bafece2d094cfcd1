/*
 * interconnect.h - what links between devices and nodes carry.
 */
#ifndef DLT_PREDICT_INTERCONNECT_H
#define DLT_PREDICT_INTERCONNECT_H

#include <stddef.h>

struct dlt_interconnect {
    const char *name;
    double bandwidth; /* bytes/s that an all-reduce's ring gets of it, in one direction */
};

/* bytes/s between nodes where nobody says more: 100gbe's, four fifths of 100 Gbit/s. */
#define DLT_NODE_BANDWIDTH 10e9

/* Ended by a NULL name: PCIe 3 to 5, NVLink 1 to 5, Ethernet, InfiniBand. */
extern const struct dlt_interconnect dlt_interconnects[];

/* By name, letter case apart; NULL: not known. */
const struct dlt_interconnect *dlt_interconnect_find(const char *name);
/* The nearest name, or NULL. */
const char *dlt_interconnect_nearest(const char *name);

#endif

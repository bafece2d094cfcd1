/* fill.h - ask the controller for a cluster snapshot. */
#ifndef DLT_SLURM_FILL_H
#define DLT_SLURM_FILL_H

#include "../advise/snapshot.h"

/*
 * Loads the partitions that the caller may see and, with nodes, what their nodes have; nodes are
 * left out where PrivateData hides them, and where it hides partitions there are none and Slurm is
 * not asked. Takes as long as Slurm's client calls take: call it where that does no harm. The
 * caller destroys *snapshot.
 */
int fill_snapshot(bool nodes, struct dlt_snapshot **snapshot, struct dlt_error *error);

/* Whether the site keeps its partitions from the caller (PrivateData=partitions). */
bool fill_refused(void);

/* Names the controller that a snapshot would come from, and what it would hold. */
void fill_key(bool nodes, char *key, size_t size);

#endif

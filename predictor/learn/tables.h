/*
 * tables.h - tables of convolutions and the regression beside them, from runs of whole networks.
 *
 * For each entry of a profile, framework and precision with runs of enough CNNs: the rows of files
 * that say they are tables ("table":true), of the device, threads and framework; where there are
 * none and the method was asked for, the entry's own convolutions. Coefficients are not negative
 * and minimise the relative error of steps; where a run tells forward and backward apart, each part
 * is an equation of its own. Every network is left out in turn, once with its convolutions in the
 * table and once without any of them (there networks are left out in five groups, and with each go
 * all its shapes, the cost model and the lengths of the distance).
 */
#ifndef DLT_LEARN_TABLES_H
#define DLT_LEARN_TABLES_H

#include "learn/corpus.h"
#include "learn/profile_write.h"

/* CNNs that runs are needed of. */
enum { DLT_TABLE_LEAST_NETWORKS = 5 };

/*
 * Adds the tables to the writer's entries, whose step parameters have been learned; they replace
 * earlier ones. forced: use them whatever validates better; then it fails with a sentence where
 * none can be made.
 */
int dlt_learn_tables(const struct dlt_corpus *corpus, bool forced,
                     struct dlt_profile_writer *writer, struct dlt_error *error);

#endif

/*
 * record_work.h - the functions of the record table's rows: what a kind has to do at the least.
 */
#ifndef DLT_GRAPH_RECORD_WORK_H
#define DLT_GRAPH_RECORD_WORK_H

#include "graph/record.h"

typedef void dlt_work_of(const struct dlt_record *record, struct dlt_work *work);

dlt_work_of dlt_work_convolution, dlt_work_transposed, dlt_work_pool, dlt_work_batch_norm;
dlt_work_of dlt_work_dense, dlt_work_bmm, dlt_work_attention, dlt_work_recurrent;
dlt_work_of dlt_work_layer_norm, dlt_work_rms_norm, dlt_work_group_norm, dlt_work_softmax;
dlt_work_of dlt_work_cross_entropy, dlt_work_elementwise, dlt_work_reduction, dlt_work_embedding;
dlt_work_of dlt_work_upsample, dlt_work_update;

/* Gates of a recurrent kind: rnn 1, gru 3, lstm 4. */
double dlt_recurrent_gates(const struct dlt_record_kind *kind);

#endif

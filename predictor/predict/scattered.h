/*
 * scattered.h - what reading an operand across its memory takes (lower/scatter.h says which).
 */
#ifndef DLT_PREDICT_SCATTERED_H
#define DLT_PREDICT_SCATTERED_H

#include "lower/lower.h"
#include "predict/profile.h"

/*
 * Adds it to the price of a unit's forward pass: each element is fetched with the rest of what
 * memory hands out at once, as a copy that moves as many bytes. Nothing where the device's cache
 * holds the operand until its neighbours are asked for. Nobody timed such kernels apart, so that
 * part is wide.
 */
void dlt_price_add_scattered(const struct dlt_profile *profile, const struct dlt_target *target,
                             const struct dlt_unit *unit, struct dlt_price *price);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/scattered.h"

#include <math.h>

#include "lower/scatter.h"
#include "predict/price.h"

void dlt_price_add_scattered(const struct dlt_profile *profile, const struct dlt_target *target,
                             const struct dlt_unit *unit, struct dlt_price *price)
{
    const double sigma = 0.4, size = (double)dlt_dtype_size(unit->record.dtype);
    const double copied = unit->scattered * (DLT_FETCH_BYTES / size - 1) / 2; /* read and written */
    struct dlt_record copy = dlt_record_make(dlt_record_kind_find("elementwise"));
    struct dlt_price more;

    if (!(unit->scattered > 0) || unit->scattered_operand * size <= target->device->l2_bytes)
        return;
    copy.dtype = unit->record.dtype;
    copy.threads = unit->record.threads;
    copy.u.rowwise = (struct dlt_rowwise){
        .function = DLT_COPY, .operands = 1, .rows = 1, .columns = (int64_t)copied};
    dlt_target_price(profile, target, &copy, &more);
    more.seconds -= fmin(more.clock_s, more.seconds); /* no call of its own */
    more.clock_s = 0;
    more = dlt_price_widened(more, 1, sigma);
    if (dlt_price_known(&more))
        *price = dlt_price_sum(price, &more);
}

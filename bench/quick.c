/* SPDX-License-Identifier: Apache-2.0 */
#include "quick.h"

#include <math.h>

/* Duration of one large product at the peak rate. */
static const double product_s = 20e-3;

static void product(struct dlt_record *record, double peak_flops, double share)
{
    struct dlt_matmul *d = &record->u.matmul;
    double side = cbrt(share * product_s * (isfinite(peak_flops) ? peak_flops : 5e10) / 2);

    d->m = d->n = d->k = (int64_t)(side / 64 + 1) * 64;
}

static void rows(struct dlt_record *record, int64_t function, int64_t operands, int64_t count)
{
    record->u.rowwise.function = function;
    record->u.rowwise.operands = operands;
    record->u.rowwise.rows = count;
    record->u.rowwise.columns = count > 1 ? 1024 : 1;
}

bool bench_quick_at(size_t index, double peak_flops, int threads, struct dlt_record *record)
{
    static const char *const kinds[] = {"dense",       "dense",       "elementwise",
                                        "elementwise", "elementwise", "dense"};

    if (index >= sizeof kinds / sizeof *kinds)
        return false;
    *record = dlt_record_make(dlt_record_kind_find(kinds[index]));
    record->cache = DLT_CACHE_COLD;
    record->threads = threads;
    switch (index) {
    case 0:
        product(record, peak_flops, 1);
        break;
    case 1:
        product(record, peak_flops, 0.1);
        break;
    case 2:
        rows(record, DLT_RELU, 1, 16384);
        break;
    case 3:
        rows(record, DLT_ADD, 2, 8192);
        break;
    case 4:
        rows(record, DLT_RELU, 1, 1);
        break;
    default:
        record->u.matmul = (struct dlt_matmul){1, 1, 1, 1, 0};
    }
    return true;
}

/*
 * price.h - what prices are derived from: a section that measured the very pass, or hardware
 * figures.
 */
#ifndef DLT_PREDICT_PRICE_H
#define DLT_PREDICT_PRICE_H

#include "predict/memo.h"
#include "predict/section.h"

/* Who asks: everything that stays the same while a record's pass varies. */
struct dlt_price_query {
    const struct dlt_profile *profile;
    const struct dlt_file_entry *entry;
    const struct dlt_device *device; /* the entry's, or one that nobody measured */
    struct dlt_memo *memo;           /* NULL: nothing is kept */
};

/* No price: its seconds are NaN. */
extern const struct dlt_price dlt_no_price;
bool dlt_price_known(const struct dlt_price *price);

/* So many times the price, with a spread added. */
struct dlt_price dlt_price_widened(struct dlt_price price, double factor, double sigma);
/* Both; none where one is not known. */
struct dlt_price dlt_price_sum(const struct dlt_price *a, const struct dlt_price *b);

/* The record in another pass; passes but steps and updates have no optimizer. */
struct dlt_record dlt_price_in_pass(const struct dlt_record *record, enum dlt_pass pass);

/* The section of the record's operator, dtype and math whose passes include `pass`, if there is one
 * and it is sound. */
bool dlt_price_section(const struct dlt_price_query *q, const struct dlt_record *record,
                       enum dlt_pass pass, struct dlt_section *section);

/* A section's answer as a price. */
struct dlt_price dlt_price_of(const struct dlt_section *section, const struct dlt_answer *answer);

/* By the section that measured the operator in that pass; none where there is none. */
struct dlt_price dlt_price_direct(const struct dlt_price_query *q, const struct dlt_record *asked,
                                  enum dlt_pass pass);

/* Seconds that hardware figures alone give; NaN where there are none. */
double dlt_price_roofline(const struct dlt_price_query *q, const struct dlt_record *record);

#endif

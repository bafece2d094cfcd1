/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/table_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/nnls.h"

/* Unknowns: the convolutions' factor of two passes, then the terms of three parts. */
enum { FACTORS = 2, UNKNOWNS = FACTORS + DLT_TABLE_PARTS * DLT_TABLE_TERMS, FOLDS = 5 };

/* Ridge, in units of a case's squared relative error: the factors lean towards 1, terms to 0, and
 * products, of which most CNNs have few, firmly towards the rate of the convolutions. */
static const double ridge = 1e-3, ridge_products = 0.1;

/* A case with the sums that its network gives. */
struct sums {
    struct dlt_table_sum table, near; /* all convolutions known; none of its fold's */
    double term[DLT_TABLE_PARTS][DLT_TABLE_TERMS];
    double weight; /* of a case: networks count once, however many batches of them were run */
    double residual, residual_near;
};

struct problem {
    struct dlt_table_draft *draft;
    const struct dlt_table_case *cases;
    size_t count;
    int networks;
    struct sums *sums;
    double prior_network, prior_run; /* spreads before any network was seen */
};

/* Normal equations of relative errors. */
struct equations {
    double gram[UNKNOWNS * UNKNOWNS], right[UNKNOWNS];
};

static void add_equation(struct equations *e, const double *a, double seen, double weight)
{
    for (int i = 0; i < UNKNOWNS; i++) {
        if (a[i] == 0)
            continue;
        for (int j = 0; j < UNKNOWNS; j++)
            e->gram[i * UNKNOWNS + j] += weight * a[i] * a[j];
        e->right[i] += weight * a[i] * seen;
    }
}

/* A part's columns. */
static void put_part(const struct sums *s, int part, double *a)
{
    if (part < FACTORS)
        a[part] = s->table.seconds[part];
    for (int i = 0; i < DLT_TABLE_TERMS; i++)
        a[FACTORS + part * DLT_TABLE_TERMS + i] = s->term[part][i];
}

/* An equation for the step, which is what is asked for, and one for each part that was timed apart,
 * which tells whose a cost is. */
static void add_case(struct equations *e, const struct dlt_table_case *c, const struct sums *s)
{
    const double of_part = 0.1;
    double update = c->step_s - c->forward_s - c->backward_s;
    double weight = s->weight / (c->step_s * c->step_s);
    bool apart = c->forward_s > 0 && c->backward_s > 0 && update >= 0;
    const double seen[DLT_TABLE_PARTS] = {c->forward_s, c->backward_s, update};
    double step[UNKNOWNS] = {0};

    for (int part = 0; part < DLT_TABLE_PARTS; part++) {
        double a[UNKNOWNS] = {0};

        put_part(s, part, step);
        put_part(s, part, a);
        if (apart)
            add_equation(e, a, seen[part], of_part * weight);
    }
    add_equation(e, step, c->step_s, weight);
}

/* What an unknown leans towards, and how firmly. */
static double prior_of(const struct dlt_file_table *head, int unknown, double *firmly)
{
    int part = (unknown - FACTORS) / DLT_TABLE_TERMS, term = (unknown - FACTORS) % DLT_TABLE_TERMS;

    *firmly = ridge;
    if (unknown < FACTORS)
        return 1;
    if (term != DLT_TERM_PRODUCTS || part == DLT_PART_UPDATE)
        return 0;
    *firmly = ridge_products;
    return head
        ->cost[part == DLT_PART_FORWARD ? DLT_TABLE_FORWARD : DLT_TABLE_BACKWARD][DLT_COST_MACS];
}

/* The unknowns of the cases but one network's (-1: all). Returns -1 out of memory. */
static int fit(const struct problem *p, int without, struct dlt_file_table *head)
{
    struct equations *e = calloc(1, sizeof *e);
    double scale[UNKNOWNS], x[UNKNOWNS], cases = 0;
    int result = -1;

    if (!e)
        return -1;
    for (size_t i = 0; i < p->count; i++) {
        if (p->cases[i].network == without)
            continue;
        add_case(e, &p->cases[i], &p->sums[i]);
        cases += p->sums[i].weight;
    }
    for (int i = 0; i < UNKNOWNS; i++)
        scale[i] = e->gram[i * UNKNOWNS + i] > 0 ? 1 / sqrt(e->gram[i * UNKNOWNS + i] / cases) : 0;
    for (int i = 0; i < UNKNOWNS * UNKNOWNS; i++)
        e->gram[i] *= scale[i / UNKNOWNS] * scale[i % UNKNOWNS] / cases;
    for (int i = 0; i < UNKNOWNS; i++) {
        double firmly, prior = prior_of(head, i, &firmly);

        e->right[i] *= scale[i] / cases;
        if (!(scale[i] > 0))
            continue;
        e->gram[i * UNKNOWNS + i] += firmly;
        e->right[i] += firmly * prior / scale[i];
    }
    if (dlt_nnls(e->gram, e->right, UNKNOWNS, x) == 0) {
        for (int i = 0; i < FACTORS; i++)
            head->factor[i] = x[i] * scale[i];
        for (int i = FACTORS; i < UNKNOWNS; i++)
            head->term[(i - FACTORS) / DLT_TABLE_TERMS][(i - FACTORS) % DLT_TABLE_TERMS] =
                x[i] * scale[i];
        result = 0;
    }
    free(e);
    return result;
}

/* At least a microsecond, as every price: a regression of other networks may leave nothing. */
static double step_of(const struct dlt_file_table *head, const struct dlt_table_sum *sum,
                      struct sums *s)
{
    double seconds[DLT_TABLE_PARTS];

    dlt_table_parts(head, sum, s->term, seconds);
    return fmax(seconds[0] + seconds[1] + seconds[2], 1e-6);
}

/* Each network by the others. */
static int leave_each_out(struct problem *p)
{
    struct dlt_file_table *head = &p->draft->head;

    for (int n = 0; n < p->networks; n++) {
        if (fit(p, n, head))
            return -1;
        for (size_t i = 0; i < p->count; i++) {
            struct sums *s = &p->sums[i];

            if (p->cases[i].network != n)
                continue;
            s->residual = log(p->cases[i].step_s / step_of(head, &s->table, s));
            s->residual_near = log(p->cases[i].step_s / step_of(head, &s->near, s));
        }
    }
    return 0;
}

/* Hides the shapes of a fold's networks. */
static void hide(struct problem *p, int fold)
{
    struct dlt_table_draft *draft = p->draft;

    memset(draft->hidden, 0, draft->head.shapes);
    for (size_t i = 0; i < p->count; i++) {
        const struct dlt_plan *plan = p->cases[i].plan;

        if (p->cases[i].network % FOLDS != fold)
            continue;
        for (size_t u = 0; u < plan->unit_count; u++) {
            struct dlt_table_shape shape;

            if (plan->unit[u].same_as >= 0 || !dlt_table_shape_of(&plan->unit[u].record, &shape))
                continue;
            for (uint32_t s = 0; s < draft->head.shapes; s++)
                if (dlt_table_same_shape(&draft->shape[s], &shape))
                    draft->hidden[s] = 1;
        }
    }
}

/* The convolutions of every case, with and without the shapes of its fold. */
static int fill_sums(struct problem *p)
{
    struct dlt_table_draft *draft = p->draft;

    for (int fold = 0; fold < FOLDS && fold < p->networks; fold++) {
        hide(p, fold);
        if (dlt_table_fit(draft))
            return -1;
        for (size_t i = 0; i < p->count; i++)
            if (p->cases[i].network % FOLDS == fold)
                dlt_table_convolutions(&draft->table, p->cases[i].plan, NULL, &p->sums[i].near);
    }
    memset(draft->hidden, 0, draft->head.shapes);
    if (dlt_table_fit(draft))
        return -1;
    for (size_t i = 0; i < p->count; i++) {
        dlt_table_convolutions(&draft->table, p->cases[i].plan, NULL, &p->sums[i].table);
        dlt_table_terms(p->cases[i].plan, p->sums[i].term);
    }
    return 0;
}

static void fill_weights(struct problem *p)
{
    for (size_t i = 0; i < p->count; i++) {
        double batches = 0;

        for (size_t k = 0; k < p->count; k++)
            batches += p->cases[k].network == p->cases[i].network;
        p->sums[i].weight = 1 / batches;
    }
}

struct spread {
    double network, run; /* standard deviations */
    double mape;
};

/* What a network and what a batch of it adds to the errors, pulled towards the defaults as if those
 * had been seen on three networks (as in steps.c). */
static struct spread spread_of(const struct problem *p, bool near)
{
    const double prior_networks = 3;
    double network = prior_networks * p->prior_network * p->prior_network;
    double run = prior_networks * p->prior_run * p->prior_run;
    double runs = prior_networks, errors = 0;

    for (int n = 0; n < p->networks; n++) {
        double sum = 0, squares = 0, cases = 0;

        for (size_t i = 0; i < p->count; i++) {
            double r = near ? p->sums[i].residual_near : p->sums[i].residual;

            if (p->cases[i].network != n)
                continue;
            sum += r;
            squares += r * r;
            cases++;
            errors += fabs(exp(-r) - 1) / (double)p->count;
        }
        network += cases > 0 ? sum / cases * sum / cases : 0;
        run += cases > 0 ? squares - sum * sum / cases : 0;
        runs += cases > 0 ? cases - 1 : 0;
    }
    return (struct spread){.network = sqrt(network / (prior_networks + p->networks)),
                           .run = sqrt(run / runs),
                           .mape = errors};
}

static void fill_spreads(const struct problem *p, struct dlt_file_table *head)
{
    const struct spread table = spread_of(p, false), near = spread_of(p, true);

    head->mape = table.mape;
    head->mape_near = near.mape;
    head->network_sigma = table.network;
    head->run_sigma = table.run;
    head->sigma = hypot(table.network, table.run);
    head->sigma_near = hypot(near.network, near.run);
    /* As steps.c has it: the common error that is left, and two devices of one kind. */
    head->bias_sigma = hypot(0.03, table.network / sqrt(p->networks + 1));
    head->networks = p->networks;
    head->runs = (double)p->count;
}

int dlt_table_learn(struct dlt_table_draft *draft, const struct dlt_table_case *cases, size_t count,
                    int networks, bool host_computes)
{
    const struct dlt_step_parameters defaults = dlt_step_defaults(DLT_PYTORCH, host_computes);
    struct problem p = {.draft = draft,
                        .cases = cases,
                        .count = count,
                        .networks = networks,
                        .sums = calloc(count + 1, sizeof *p.sums),
                        .prior_network = defaults.network_sigma,
                        .prior_run = defaults.run_sigma};
    int result = -1;

    if (!p.sums)
        return -1;
    fill_weights(&p);
    if (fill_sums(&p) == 0 && leave_each_out(&p) == 0) {
        fill_spreads(&p, &draft->head);
        result = fit(&p, -1, &draft->head);
    }
    free(p.sums);
    return result;
}

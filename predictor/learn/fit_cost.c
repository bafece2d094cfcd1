/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost model: time = sum of coefficient x column, coefficients >= 0, at relative error. Weights
 * 1 / time at first; then three times w = sqrt(min(1, 0.3 / |ln(L/t)|)) / L, which leaves rows that
 * the model cannot explain (another algorithm) less say. The weight falls with the logarithm, and
 * the error of a time too long rises faster: so no row counts as longer than ten times its cost.
 *
 * Where rows are few, many columns are not tied down. So a few made-up rows stand beside them, of
 * all sizes, timed by the rates that the device reaches and scaled as the measured rows are:
 * together they weigh as much as PRIOR_ROWS measured ones.
 */
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/median.h"
#include "learn/model_build.h"
#include "learn/nnls.h"

static const double least_s = 1e-6;

/* Launches, elements and MACs of each pass: what a time cannot do without. */
static bool is_plain(const char *name)
{
    static const char *const plain[] = {"1", "I", "O", "W", "macs"};

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(name, plain[i]) == 0)
            return true;
    return (dlt_column_is_update(name) && !dlt_column_is_of_one(name)) ||
           strncmp(name, "pass", 4) == 0;
}

enum { PRIOR_RECORDS = 48, FEW_ROWS = 30 };
static const double prior_rows = 20, most_off = 10;

struct problem {
    double *column;   /* rows x count, each scaled */
    double *weighted; /* the same times the row's weight */
    double *weight, *time;
    double *target; /* the time, cut off at most_off times the cost */
    double *trust;  /* of each row: 1, less for made-up ones */
    double *gram, *right, *solution;
    size_t rows, count;
    uint16_t position[DLT_COLUMNS_MAX]; /* among all columns */
    double scale[DLT_COLUMNS_MAX];
    double ridge[DLT_COLUMNS_MAX]; /* rows that speak against each coefficient */
};

static void problem_clear(struct problem *p)
{
    free(p->column);
    free(p->weighted);
    free(p->weight);
    free(p->time);
    free(p->target);
    free(p->trust);
    free(p->gram);
    free(p->right);
    free(p->solution);
}

/* How often each column is used, its sum, a sum that differs unless columns are equal row by row,
 * and whether an earlier one equals it. */
struct survey {
    size_t used[DLT_COLUMNS_MAX];
    double sum[DLT_COLUMNS_MAX];
    double mixed[DLT_COLUMNS_MAX];
    uint16_t same_as[DLT_COLUMNS_MAX]; /* itself, or the first column that equals it */
};

static void survey_columns(const struct dlt_rows *rows, size_t columns, struct survey *s)
{
    struct dlt_numbers c;

    memset(s, 0, sizeof *s);
    for (size_t r = 0; r < rows->count; r++) {
        dlt_columns(&rows->row[r]->record, &c);
        for (size_t j = 0; j < columns; j++) {
            s->used[j] += c.value[j] > 0;
            s->sum[j] += c.value[j];
            s->mixed[j] += c.value[j] * (1 + fmod((double)(r + 1) * 0.6180339887498949, 1));
        }
    }
    for (size_t j = 0; j < columns; j++) {
        s->same_as[j] = (uint16_t)j;
        for (size_t k = 0; k < j && s->same_as[j] == j; k++)
            if (s->used[k] == s->used[j] && s->sum[k] == s->sum[j] && s->mixed[k] == s->mixed[j])
                s->same_as[j] = (uint16_t)k;
    }
}

static void choose_columns(struct problem *p, const struct dlt_rows *rows, size_t columns,
                           bool (*wanted)(const char *name))
{
    const size_t least_rows = rows->count < FEW_ROWS ? 2 : 3;
    struct survey s;
    struct dlt_numbers c;

    survey_columns(rows, columns, &s);
    dlt_columns(&rows->row[0]->record, &c);
    for (size_t j = 0; j < columns; j++) {
        if (s.used[j] < least_rows || s.same_as[j] != j || dlt_column_is_retired(c.name[j]) ||
            (wanted && !wanted(c.name[j])))
            continue;
        /* What every optimizer shares must not hide in what one takes. */
        p->ridge[p->count] =
            0.1 + (dlt_column_is_of_one(c.name[j]) ? 0.05 * (double)rows->count : 0);
        p->position[p->count] = (uint16_t)j;
        p->scale[p->count++] = (double)s.used[j] / s.sum[j];
    }
}

/* There is room for it. */
static void add_row(struct problem *p, const struct dlt_record *record, double seconds,
                    double trust)
{
    double *column = p->column + p->rows * p->count;
    struct dlt_numbers c;

    dlt_columns(record, &c);
    for (size_t j = 0; j < p->count; j++)
        column[j] = c.value[p->position[j]] * p->scale[j];
    p->time[p->rows] = p->target[p->rows] = seconds;
    p->trust[p->rows++] = trust;
}

static int problem_create(struct problem *p, const struct dlt_rows *rows, size_t columns,
                          bool (*wanted)(const char *name))
{
    size_t room = rows->count + PRIOR_RECORDS;

    choose_columns(p, rows, columns, wanted);
    p->column = malloc((room * p->count + 1) * sizeof *p->column);
    p->weighted = malloc((room * p->count + 1) * sizeof *p->weighted);
    p->weight = malloc(room * sizeof *p->weight);
    p->time = malloc(room * sizeof *p->time);
    p->target = malloc(room * sizeof *p->target);
    p->trust = malloc(room * sizeof *p->trust);
    p->gram = calloc(p->count * p->count + 1, sizeof *p->gram);
    p->right = calloc(p->count + 1, sizeof *p->right);
    p->solution = calloc(p->count + 1, sizeof *p->solution);
    if (!p->column || !p->weighted || !p->weight || !p->time || !p->target || !p->trust ||
        !p->gram || !p->right || !p->solution)
        return -1;
    for (size_t r = 0; r < rows->count; r++)
        add_row(p, &rows->row[r]->record, rows->row[r]->seconds, 1);
    return 0;
}

/* Seconds of the work alone, by the device's rates. */
static double by_rates(const struct dlt_rates *rates, const struct dlt_record *record)
{
    struct dlt_work work;

    dlt_record_work(record, &work);
    return work.flops / rates->flops_s + work.bytes / rates->bytes_s;
}

/* Median of what was measured beyond the floor over by_rates, of rows whose work shows beside the
 * floor; 1 where few do. ratio: room for one of each row. */
static double usual_ratio(const struct dlt_rows *rows, double *ratio)
{
    const double shows = 0.3;
    const size_t few = 3;
    size_t count = 0;

    for (size_t r = 0; r < rows->count; r++) {
        double work_s = by_rates(&rows->rates, &rows->row[r]->record);

        if (work_s > shows * rows->rates.floor_s)
            ratio[count++] = fmax(rows->row[r]->seconds - rows->rates.floor_s, 0) / work_s;
    }
    dlt_sort_values(ratio, count);
    return count < few ? 1 : ratio[count / 2];
}

static void add_prior(struct problem *p, const struct dlt_rows *rows, struct dlt_random *random)
{
    const double spread = 1.2;
    size_t first = p->rows;
    double ratio;

    if (!(rows->rates.flops_s > 0 && rows->rates.bytes_s > 0))
        return;
    ratio = usual_ratio(rows, p->weight); /* which is not weighed yet */
    for (int attempt = 0; attempt < 4 * PRIOR_RECORDS && p->rows < first + PRIOR_RECORDS;
         attempt++) {
        struct dlt_record record;

        if (dlt_synthesise(rows, random, spread, &record))
            add_row(p, &record, rows->rates.floor_s + ratio * by_rates(&rows->rates, &record),
                    sqrt(prior_rows / PRIOR_RECORDS));
    }
}

/* Normal equations, with columns scaled to unit mean square so that one small ridge suits all. */
static void normal_equations(struct problem *p, double *unit)
{
    int n = (int)p->count;

    for (size_t r = 0; r < p->rows; r++)
        for (size_t j = 0; j < p->count; j++)
            p->weighted[r * p->count + j] = p->weight[r] * p->column[r * p->count + j];
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, n, (int)p->rows, 1, p->weighted, n, 0,
                p->gram, n);
    for (size_t j = 0; j < p->count; j++) {
        double diagonal = p->gram[j * p->count + j];

        unit[j] = diagonal > 0 ? sqrt((double)p->rows / diagonal) : 0;
        p->right[j] = 0;
    }
    for (size_t r = 0; r < p->rows; r++)
        for (size_t j = 0; j < p->count; j++)
            p->right[j] += p->weighted[r * p->count + j] * p->weight[r] * p->target[r] * unit[j];
    for (size_t i = 0; i < p->count; i++)
        for (size_t j = i; j < p->count; j++) {
            double value =
                p->gram[i * p->count + j] * unit[i] * unit[j] + (i == j ? p->ridge[i] : 0);

            p->gram[i * p->count + j] = p->gram[j * p->count + i] = value;
        }
}

static double cost_of_row(const struct problem *p, size_t r)
{
    double sum = 0;

    for (size_t j = 0; j < p->count; j++)
        sum += p->column[r * p->count + j] * p->solution[j];
    return fmax(sum, least_s);
}

static int solve(struct problem *p, double *unit)
{
    if (p->count == 0)
        return 0;
    normal_equations(p, unit);
    if (dlt_nnls(p->gram, p->right, p->count, p->solution))
        return -1;
    for (size_t j = 0; j < p->count; j++)
        p->solution[j] *= unit[j];
    return 0;
}

/* Range of ln cost, the floor, and which optimizers were seen. */
static void describe(struct dlt_build *build, const struct dlt_rows *rows)
{
    struct dlt_section section = dlt_build_section(build);
    double sum = 0, squares = 0, least = INFINITY, count = (double)rows->count;

    build->model.floor_s = 0;
    for (size_t r = 0; r < rows->count; r++)
        least = fmin(least, rows->row[r]->seconds);
    if (rows->rates.launch_s > 0)
        least = fmin(least, rows->rates.launch_s);
    build->model.floor_s = DLT_FLOOR_SHARE * least;
    section.model.floor_s = build->model.floor_s;
    for (size_t r = 0; r < rows->count; r++) {
        const struct dlt_record *record = &rows->row[r]->record;
        double ln_cost = log(dlt_section_cost(&section, record));

        sum += ln_cost;
        squares += ln_cost * ln_cost;
        if (dlt_pass_parts(record->pass).update)
            build->model.optimizers |= 1U << record->optimizer;
    }
    build->model.cost_mean = sum / count;
    build->model.cost_scale =
        sqrt(fmax(squares / count - build->model.cost_mean * build->model.cost_mean, 1e-4));
}

int dlt_fit_cost(struct dlt_build *build, const struct dlt_rows *rows, struct dlt_random *random)
{
    const int rounds = 4;
    double unit[DLT_COLUMNS_MAX];
    struct problem p = {0};
    bool few = rows->count < FEW_ROWS;
    int result = problem_create(&p, rows, build->model.columns, few ? is_plain : NULL);

    if (result == 0)
        add_prior(&p, rows, random);
    for (size_t r = 0; result == 0 && r < p.rows; r++)
        p.weight[r] = p.trust[r] / p.time[r];
    for (int round = 0; result == 0 && round < rounds; round++) {
        result = solve(&p, unit);
        for (size_t r = 0; r < p.rows; r++) {
            double cost = cost_of_row(&p, r);

            p.weight[r] = p.trust[r] * sqrt(fmin(1, 0.3 / fabs(log(cost / p.time[r])))) / cost;
            p.target[r] = fmin(p.time[r], most_off * cost);
        }
    }
    for (size_t j = 0; result == 0 && j < p.count; j++)
        build->coefficient[p.position[j]] = p.solution[j] * p.scale[j];
    problem_clear(&p);
    if (result == 0)
        describe(build, rows);
    return result;
}

/* What papers regress on: the plain columns, and one constant and slope for each optimizer. */
static bool is_regressed(const char *name)
{
    return is_plain(name) || dlt_column_is_of_one(name);
}

int dlt_fit_linear(struct dlt_build *build, const struct dlt_rows *rows)
{
    double unit[DLT_COLUMNS_MAX];
    size_t all[DLT_COLUMNS_MAX];
    double *factor;
    struct problem p = {0};
    int result = problem_create(&p, rows, build->model.columns, is_regressed);

    factor = result == 0 ? malloc((p.count * p.count + 1) * sizeof *factor) : NULL;
    if (!factor) {
        problem_clear(&p);
        return -1;
    }
    for (size_t r = 0; r < p.rows; r++)
        p.weight[r] = 1;
    for (size_t j = 0; j < p.count; j++)
        all[j] = j;
    for (size_t j = 0; j < p.count; j++)
        p.ridge[j] = 1e-6;
    if (p.count > 0)
        normal_equations(&p, unit);
    if (p.count > 0 &&
        dlt_cholesky_solve(p.gram, p.count, all, p.count, p.right, factor, p.solution) == 0)
        for (size_t j = 0; j < p.count; j++)
            build->coefficient[p.position[j]] = p.solution[j] * unit[j] * p.scale[j];
    free(factor);
    problem_clear(&p);
    describe(build, rows);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many rows: networks, which interpolate well, and boosted trees, which find the sizes where a
 * library changes its kernel. Rows kept aside say which, or how much of each.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/mlp.h"
#include "learn/model_build.h"
#include "learn/parallel.h"
#include "learn/sessions.h"
#include "learn/start.h"
#include "learn/trees.h"

enum { MOST_LEARNERS = 16 };

/*
 * Where rows come from several sessions, networks are told which by one input more, the session's
 * level, since what a session does to a time differs from row to row; trees learn from rows with
 * the level taken off. Nobody who asks knows a session, so answers are those of the mean level, 0.
 */
struct ensemble {
    const struct dlt_ensemble_settings *settings;
    const struct dlt_start *begun; /* what the networks begin from; NULL: random numbers */
    struct dlt_network network;
    const float *x, *y, *weight;
    float *told;         /* rows x (inputs + 1): x and the level; NULL: one session */
    float *level_y;      /* y less the level; NULL: one session */
    const int16_t *grid; /* x for the trees */
    size_t rows, inputs;
    float *parameter[MOST_LEARNERS]; /* of each network */
    struct dlt_trees forest[MOST_LEARNERS];
    struct dlt_trees mean; /* of the forests */
    bool failed[MOST_LEARNERS];
    const float *asked; /* inputs of a run of all networks, and its outputs */
    size_t asked_rows;
    float *output[MOST_LEARNERS];
};

/* The start's parameters, where sessions are told with nothing made of their level as yet. */
static void begin(const struct ensemble *e, size_t member, float *parameter)
{
    const struct dlt_network *n = &e->begun->network;
    const float *from = e->begun->parameter[member % e->begun->members];
    size_t first = (size_t)n->width[0] * (size_t)n->width[1];
    size_t level = e->told ? (size_t)n->width[1] : 0;

    memcpy(parameter, from, first * sizeof *parameter);
    memset(parameter + first, 0, level * sizeof *parameter);
    memcpy(parameter + first + level, from + first,
           (dlt_network_parameters(n) - first) * sizeof *parameter);
}

static void train_network(struct ensemble *e, size_t member)
{
    const struct dlt_ensemble_settings *s = e->settings;
    struct dlt_mlp_settings settings = {.epochs = e->begun ? s->begun_epochs : s->epochs,
                                        .batch = 64,
                                        .rate = e->begun ? 5e-4 : 2e-3,
                                        .begun = e->begun != NULL,
                                        .warm_up = 0.05,
                                        .decay = 0.1,
                                        .beta = 0.1,
                                        .seed = s->seed,
                                        .stream = s->stream * 64 + member};

    e->parameter[member] = malloc(dlt_network_parameters(&e->network) * sizeof(float));
    if (e->begun && e->parameter[member])
        begin(e, member, e->parameter[member]);
    e->failed[member] = !e->parameter[member] ||
                        dlt_mlp_train(&e->network, e->told ? e->told : e->x, e->y, e->weight,
                                      e->rows, &settings, e->parameter[member]) != 0;
}

static void train_forest(struct ensemble *e, size_t bag)
{
    const struct dlt_ensemble_settings *s = e->settings;
    struct dlt_trees_settings settings = {.rounds = s->rounds,
                                          .leaves = s->leaves,
                                          .rate = fmin(16.0 / s->rounds, 0.2),
                                          .rows = 0.8,
                                          .features = 0.5,
                                          .least_rows = 5,
                                          .ridge = 1,
                                          .seed = s->seed,
                                          .stream = s->stream * 64 + 32 + bag};

    e->failed[(size_t)s->members + bag] =
        dlt_trees_train(&e->forest[bag], e->grid, e->level_y ? e->level_y : e->y, e->weight,
                        e->rows, e->inputs, &settings) != 0;
}

/* Forests first: they take longer than networks. */
static void train_learner(void *context, size_t index)
{
    struct ensemble *e = context;
    size_t bags = (size_t)e->settings->bags;

    if (index < bags)
        train_forest(e, index);
    else
        train_network(e, index - bags);
}

static void run_network(void *context, size_t member)
{
    struct ensemble *e = context;

    e->output[member] = malloc((e->asked_rows + 1) * sizeof(float));
    e->failed[member] =
        !e->output[member] || dlt_mlp_run(&e->network, e->parameter[member], e->asked,
                                          e->asked_rows, e->output[member]) != 0;
}

/* Inputs as the networks take them, at the levels of their sessions (NULL: at the mean level). */
static float *with_level(const float *x, const float *level, size_t rows, size_t inputs)
{
    float *told = calloc(rows * (inputs + 1) + 1, sizeof *told);

    for (size_t r = 0; told && r < rows; r++) {
        memcpy(told + r * (inputs + 1), x + r * inputs, inputs * sizeof *x);
        told[r * (inputs + 1) + inputs] = level ? level[r] : 0;
    }
    return told;
}

/* Mean output of the networks: what the student learns. */
static int run_networks(void *context, const float *x, size_t count, float *y)
{
    struct ensemble *e = context;
    size_t members = (size_t)e->settings->members;
    float *told = e->told ? with_level(x, NULL, count, e->inputs) : NULL;
    int result = 0;

    if (e->told && !told)
        return -1;
    e->asked = told ? told : x;
    e->asked_rows = count;
    dlt_parallel(e->settings->threads, members, run_network, e);
    for (size_t m = 0; m < members; m++)
        if (e->failed[m])
            result = -1;
    for (size_t r = 0; result == 0 && r < count; r++) {
        float sum = 0;

        for (size_t m = 0; m < members; m++)
            sum += e->output[m][r];
        y[r] = sum / (float)members;
    }
    for (size_t m = 0; m < members; m++) {
        free(e->output[m]);
        e->output[m] = NULL;
    }
    free(told);
    return result;
}

static int16_t *on_grid(const float *x, size_t count)
{
    int16_t *grid = malloc((count + 1) * sizeof *grid);

    for (size_t i = 0; grid && i < count; i++)
        grid[i] = dlt_forest_input(x[i]);
    return grid;
}

static int train_all(struct ensemble *e)
{
    size_t learners = (size_t)e->settings->members + (size_t)e->settings->bags;
    int16_t *grid = on_grid(e->x, e->rows * e->inputs);
    int result = grid ? 0 : -1;

    e->grid = grid;
    if (grid)
        dlt_parallel(e->settings->threads, learners, train_learner, e);
    free(grid);
    for (size_t i = 0; i < learners; i++)
        if (e->failed[i])
            result = -1;
    if (result == 0 && e->settings->bags > 0)
        result = dlt_trees_mean(e->forest, (size_t)e->settings->bags, &e->mean);
    return result;
}

static void ensemble_clear(struct ensemble *e)
{
    for (int i = 0; i < MOST_LEARNERS; i++) {
        free(e->parameter[i]);
        dlt_trees_clear(&e->forest[i]);
    }
    dlt_trees_clear(&e->mean);
    free(e->told);
    free(e->level_y);
}

/* Takes sessions into account where there are several. */
static int tell_sessions(struct ensemble *e, const struct dlt_rows *rows)
{
    float *level = calloc(rows->count + 1, sizeof *level);
    size_t sessions = level ? dlt_find_sessions(rows->row, e->y, rows->count, level) : 0;
    double squares = 0;

    e->level_y = sessions > 1 ? malloc((rows->count + 1) * sizeof *e->level_y) : NULL;
    for (size_t r = 0; e->level_y && r < rows->count; r++) {
        e->level_y[r] = e->y[r] - level[r];
        squares += (double)level[r] * (double)level[r] / (double)rows->count;
    }
    for (size_t r = 0; e->level_y && r < rows->count; r++)
        level[r] = (float)((double)level[r] / sqrt(squares));
    if (e->level_y) {
        e->told = with_level(e->x, level, rows->count, e->inputs);
        e->network.width[0]++;
    }
    free(level);
    return sessions == 0 || (sessions > 1 && !e->told) ? -1 : 0;
}

/* Outputs for the validation rows, and what they should be. */
struct trial {
    float *network, *forest;
    double *cost;
};

static int try_out(struct dlt_build *b, struct ensemble *e, const struct dlt_rows *rows,
                   struct trial *trial)
{
    struct dlt_section section = dlt_build_section(b);
    size_t width = b->model.inputs;
    float *x = calloc(rows->count * width + 1, sizeof *x);
    int16_t *grid = NULL;
    int result = -1;

    for (size_t r = 0; x && r < rows->count; r++) {
        trial->cost[r] = dlt_section_cost(&section, &rows->row[r]->record);
        dlt_section_input(&section, rows->device, &rows->row[r]->record, trial->cost[r],
                          x + r * width);
    }
    if (x && (grid = on_grid(x, rows->count * width)))
        result = run_networks(e, x, rows->count, trial->network);
    for (size_t r = 0; result == 0 && r < rows->count; r++)
        trial->forest[r] = (float)dlt_trees_run(&e->mean, grid + r * width);
    free(x);
    free(grid);
    return result;
}

/* Root mean squares of the error in seconds and of its logarithm, multiplied: both count. */
static double judge(const struct dlt_build *b, const struct dlt_rows *rows,
                    const struct trial *trial, double weight)
{
    double seconds = 0, logs = 0;

    for (size_t r = 0; r < rows->count; r++) {
        double output =
            (1 - weight) * (double)trial->network[r] + weight * (double)trial->forest[r];
        double off = log(trial->cost[r] / rows->row[r]->seconds) + b->model.target_mean +
                     b->model.target_scale * output;
        double error = rows->row[r]->seconds * expm1(off);

        seconds += error * error;
        logs += off * off;
    }
    return seconds * logs;
}

/* The forest's share. A mixture has to pay for carrying both. */
static int choose_weight(struct dlt_build *b, struct ensemble *e, const struct dlt_rows *rows,
                         double *weight)
{
    static const double weights[] = {0, 1, 0.5, 0.75};
    static const double handicap[] = {1, 1, 1.04, 1.04};
    struct trial trial = {.network = malloc((rows->count + 1) * sizeof(float)),
                          .forest = malloc((rows->count + 1) * sizeof(float)),
                          .cost = malloc((rows->count + 1) * sizeof(double))};
    double least = INFINITY;
    int result = -1;

    if (trial.network && trial.forest && trial.cost)
        result = try_out(b, e, rows, &trial);
    for (size_t i = 0; result == 0 && i < sizeof weights / sizeof *weights; i++) {
        double loss = handicap[i] * judge(b, rows, &trial, weights[i]);

        if (loss < least) {
            least = loss;
            *weight = weights[i];
        }
    }
    free(trial.network);
    free(trial.forest);
    free(trial.cost);
    return result;
}

static void take_forest(struct dlt_build *b, struct ensemble *e, double weight)
{
    b->tree = e->mean.node;
    e->mean.node = NULL;
    b->model.trees = (uint32_t)e->mean.count;
    b->model.tree_stride = (uint32_t)e->mean.stride;
    b->model.tree_scale = e->mean.scale;
    b->model.tree_weight = weight;
}

/* The networks themselves, without the level, which is 0 for all who ask. */
static int take_networks(struct dlt_build *b, const struct ensemble *e)
{
    struct dlt_network network = e->network;
    size_t members = (size_t)e->settings->members, first = e->inputs * (size_t)network.width[1];

    network.width[0] = (int)e->inputs;
    for (size_t m = 0; e->told && m < members; m++)
        memmove(e->parameter[m] + first, e->parameter[m] + first + network.width[1],
                (dlt_network_parameters(&network) - first) * sizeof(float));
    return dlt_build_networks(b, &network, e->parameter, members);
}

static int fit(struct dlt_build *b, const struct dlt_rows *rows, const struct dlt_rows *validation,
               struct ensemble *e)
{
    const struct dlt_ensemble_settings *s = e->settings;
    struct dlt_student student = {.width = {96, 96, 64},
                                  .epochs = s->student_epochs,
                                  .synthetic = s->synthetic,
                                  .seed = s->seed,
                                  .stream = s->stream,
                                  .teach = run_networks,
                                  .context = e};
    double weight = s->share >= 0 ? s->share : s->members > 0 ? 0 : 1;

    if (train_all(e))
        return -1;
    if (s->share < 0 && s->members > 0 && s->bags > 0 && choose_weight(b, e, validation, &weight))
        return -1;
    if (weight > 0) {
        take_forest(b, e, weight);
        student.width[0] = student.width[1] = 64;
        student.width[2] = 32;
    }
    if (weight == 0 && s->kept)
        return take_networks(b, e);
    return weight < 1 ? dlt_fit_student(b, rows, e->x, &student) : 0;
}

int dlt_fit_ensemble(struct dlt_build *b, const struct dlt_rows *rows,
                     const struct dlt_rows *validation,
                     const struct dlt_ensemble_settings *settings)
{
    struct ensemble *e = calloc(1, sizeof *e);
    float *x = NULL, *y = NULL, *weight = malloc((rows->count + 1) * sizeof *weight);
    int result = -1;

    for (size_t r = 0; weight && r < rows->count; r++)
        weight[r] = dlt_row_weight(rows->row[r]->seconds);
    if (e && weight && !dlt_start_choose(settings->start, settings->starts, b, rows, &b->begun) &&
        !dlt_fit_features(b, rows, NULL, b->begun, &x, &y)) {
        e->settings = settings;
        e->begun = b->begun;
        e->network = (struct dlt_network){.layers = 4,
                                          .width = {(int)b->model.inputs, DLT_ENSEMBLE_WIDTHS, 1}};
        e->x = x;
        e->y = y;
        e->weight = weight;
        e->rows = rows->count;
        e->inputs = b->model.inputs;
        result = tell_sessions(e, rows) || fit(b, rows, validation, e) ? -1 : 0;
        ensemble_clear(e);
    }
    free(e);
    free(x);
    free(y);
    free(weight);
    return result;
}

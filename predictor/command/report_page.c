/* SPDX-License-Identifier: Apache-2.0 */
/* The page: what is drawn, its captions and tables. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/html.h"
#include "command/report.h"
#include "command/report_style.h"
#include "command/starts.h"
#include "predict/profile_format.h"

/* What could be drawn. */
struct drawn {
    bool predicted[2], residuals[2], coverage, curve, partitions, history; /* [network] */
    size_t points[2];
};

/* Rows of a kind that were predicted. */
static size_t rows_of(const struct scores *scores, bool network)
{
    size_t count = 0;

    for (size_t i = 0; i < scores_groups(scores); i++) {
        const struct score_group *g = scores_group(scores, i);

        count += g->key.network == network && !g->key.part ? g->count : 0;
    }
    return count;
}

/* "measured 1500, general 12": rows by what their predictions rest on. */
static void write_bases(FILE *page, const struct scores *scores, bool network)
{
    bool some = false;

    for (int basis = DLT_BASIS_MEASURED; basis >= DLT_BASIS_COST_MODEL; basis--) {
        size_t count = 0;

        for (size_t i = 0; i < scores_groups(scores); i++) {
            const struct score_group *g = scores_group(scores, i);

            if (!g->key.part && g->key.network == network && (int)g->key.basis == basis)
                count += g->count;
        }
        if (count > 0)
            fprintf(page, "%s%s %zu", some ? ", " : "", dlt_basis_name((enum dlt_basis)basis),
                    count);
        some = some || count > 0;
    }
}

/* ---- header ---------------------------------------------------------------------------------- */

/* The devices of what was predicted; where nothing was, of everything. */
static void write_devices(FILE *page, const struct scores *scores)
{
    const size_t groups = scores_groups(scores);
    size_t least = 0;
    bool some = false;

    for (size_t i = 0; i < groups; i++)
        least = scores_group(scores, i)->count > 0 ? 1 : least;
    for (size_t i = 0; i < groups; i++) {
        const struct score_group *group = scores_group(scores, i);
        bool named = group->count >= least;

        for (size_t j = 0; j < i && named; j++)
            named = scores_group(scores, j)->count < least ||
                    strcmp(scores_group(scores, j)->key.device, group->key.device) != 0;
        if (!named)
            continue;
        fputs(some ? ", " : "", page);
        html_text(page, group->key.device);
        some = true;
    }
}

static void write_fact(FILE *page, const char *name)
{
    fprintf(page, "<dt>%s</dt><dd>", name);
}

static void write_header(FILE *page, const struct report *report)
{
    const struct dlt_file_header *h = report->profile->header;
    char producer[sizeof h->producer + 1];

    snprintf(producer, sizeof producer, "%.*s", (int)sizeof h->producer, h->producer);
    fputs("<header><p class=\"kicker\">dltime report</p><h1>", page);
    write_devices(page, report->scores);
    fputs("</h1>\n<dl>", page);
    write_fact(page, "Profile");
    html_text(page, report->profile_path);
    fputs("</dd>", page);
    write_fact(page, "Trained");
    html_date(page, (time_t)h->created);
    fputs(" by ", page);
    html_text(page, producer);
    fputs("</dd>", page);
    write_fact(page, "Scored on");
    for (int i = 0; i < report->file_count; i++) {
        fputs(i ? ", " : "", page);
        html_text(page, report_base_name(report->file[i]));
    }
    fputs("</dd>", page);
    write_fact(page, "Reported");
    html_date(page, report->now);
    fprintf(page, " by dltime %s</dd></dl></header>\n", DLT_VERSION);
}

static void write_tile(FILE *page, const char *what, const char *format, double value)
{
    fputs("<div class=\"tile\"><b>", page);
    if (isfinite(value))
        fprintf(page, format, value); /* NOLINT: literals, all in write_tiles */
    else
        fputs("–", page);
    fprintf(page, "</b><span>%s</span></div>", what);
}

static void write_tiles(FILE *page, const struct report *report, enum scores_of of,
                        const char *title)
{
    size_t count, skipped;
    struct score_summary s = scores_total(report->scores, of, &count, &skipped);

    if (count + skipped == 0)
        return;
    fprintf(page, "<h3>%s</h3><div class=\"tiles\">", title);
    write_tile(page, "rows scored", "%.0f", (double)count);
    write_tile(page, "mean error (MAPE)", "%.1f&nbsp;%%", 100 * s.mape);
    write_tile(page, "median error", "%.1f&nbsp;%%", 100 * s.median_ape);
    write_tile(page, "in their 90&nbsp;% range", "%.1f&nbsp;%%", 100 * s.coverage);
    if (skipped)
        write_tile(page, "could not be predicted", "%.0f", (double)skipped);
    fputs("</div>\n", page);
}

/* ---- predictions ----------------------------------------------------------------------------- */

static void write_groups(FILE *page, const struct report *report, bool network)
{
    static const char *const operators[] = {"Operator", "Pass",     "Type",  "Device",  "Rests on",
                                            ">n",       ">RMSE",    ">MAPE", ">Median", ">In 90 %",
                                            ">Width",   ">Skipped", NULL};
    static const char *const networks[] = {"Network", "Pass",     "Type",  "Device",  "Rests on",
                                           ">n",      ">RMSE",    ">MAPE", ">Median", ">In 90 %",
                                           ">Width",  ">Skipped", NULL};

    html_table(page, network ? networks : operators);
    for (size_t i = 0; i < scores_groups(report->scores); i++) {
        const struct score_group *g = scores_group(report->scores, i);
        struct score_summary s = score_of_group(g);

        if (g->key.network != network)
            continue;
        fputs("<tr>", page);
        html_cell(page, g->key.op);
        html_cell(page, g->key.pass);
        html_cell(page, g->key.dtype);
        html_cell(page, g->key.device);
        html_cell(page, g->count ? dlt_basis_name(g->key.basis) : "");
        html_number(page, g->sums.count, 9, "");
        html_number(page, 1e3 * s.rmse, 4, "ms");
        html_percent(page, s.mape);
        html_percent(page, s.median_ape);
        html_percent(page, s.coverage);
        html_percent(page, s.width);
        html_number(page, g->skipped ? (double)g->skipped : NAN, 9, "");
        fputs("</tr>\n", page);
    }
    html_table_end(page);
}

/* Where rows are there and none could be predicted. */
static void write_unpredicted(FILE *page, const struct report *report, bool network)
{
    bool some = false;

    for (size_t i = 0; i < scores_groups(report->scores); i++)
        some |= scores_group(report->scores, i)->key.network == network;
    if (!some)
        return;
    fprintf(page,
            "<section><h2>%s</h2>\n<p>None of these rows could be predicted: the profile answers "
            "for other devices, software or timing conventions.</p>\n",
            network ? "Whole networks" : "Operators");
    write_groups(page, report, network);
    fputs("</section>\n", page);
}

static int write_predicted(FILE *page, const struct report *report, const struct plots *plots,
                           const struct drawn *drawn, bool network, struct dlt_error *error)
{
    const size_t count = rows_of(report->scores, network);

    if (!drawn->predicted[network]) {
        write_unpredicted(page, report, network);
        return 0;
    }
    fprintf(page, "<section><h2>%s</h2>\n", network ? "Whole networks" : "Operators");
    if (report_figure(page, plots, network ? "predictednetworks" : "predicted",
                      "Predicted against measured time, both axes logarithmic", error))
        return -1;
    fprintf(page, "<b>Predicted against measured.</b> n = %zu", count);
    if (drawn->points[network] < count)
        fprintf(page, ", of which %zu, evenly spaced, are drawn", drawn->points[network]);
    fputs("; by what the predictions rest on: ", page);
    write_bases(page, report->scores, network);
    fputs(
        ". Each prediction has a central 90 % range of its own: drawn as a bar where rows are few, "
        "else as a band, the median of the ranges of rows of about the same time.",
        page);
    report_figure_end(page);
    if (drawn->residuals[network]) {
        if (report_figure(page, plots, network ? "residualsnetworks" : "residuals",
                          "Ratio of predicted to measured time by group", error))
            return -1;
        fprintf(
            page,
            "<b>Residuals.</b> Predicted over measured: line 5 to 95 %%, box 25 to 75 %%, bar "
            "median; left of 1 the prediction was too short. The %d largest groups at the most.",
            (int)RANGES_MOST);
        report_figure_end(page);
    }
    write_groups(page, report, network);
    fputs("</section>\n", page);
    return 0;
}

static void write_levels(FILE *page, const struct report *report, enum scores_of of,
                         const char *name)
{
    size_t count;
    struct score_point *point = scores_pool(report->scores, of, &count);

    for (int i = 4; point && count > 0 && i < REPORT_LEVELS; i++) {
        double low, high, share = report_coverage(point, count, report_levels[i], &low, &high);

        fputs("<tr>", page);
        html_cell(page, name);
        html_number(page, (double)count, 9, "");
        html_percent(page, report_levels[i]);
        html_percent(page, share);
        html_percent(page, low);
        html_percent(page, high);
        fputs("</tr>\n", page);
    }
    free(point);
}

/* "n = 1500 operators (measured 1500), 13 networks (general 13). " */
static void write_counts(FILE *page, const struct scores *scores)
{
    static const char *const kinds[] = {"operators", "networks"};
    bool some = false;

    for (int network = 0; network < 2; network++) {
        size_t count = rows_of(scores, network);

        if (count == 0)
            continue;
        fprintf(page, "%s%zu %s (", some ? ", " : "n = ", count, kinds[network]);
        write_bases(page, scores, network);
        fputs(")", page);
        some = true;
    }
    fputs(some ? ". " : "", page);
}

static int write_coverage(FILE *page, const struct report *report, const struct plots *plots,
                          struct dlt_error *error)
{
    static const char *const columns[] = {"Rows",      ">n",       ">Promised", ">Observed",
                                          ">at least", ">at most", NULL};

    fputs("<section><h2>Coverage</h2>\n", page);
    if (report_figure(page, plots, "coverage", "Promised against observed coverage", error))
        return -1;
    fputs("<b>Coverage.</b> ", page);
    write_counts(page, report->scores);
    fputs("How often the measured time lies in the central range that a prediction "
          "promises for a level. On the diagonal a range holds what it promises, below it is too "
          "narrow, above too wide.",
          page);
    report_figure_end(page);
    html_table(page, columns);
    write_levels(page, report, SCORES_OPERATORS, "operators");
    write_levels(page, report, SCORES_NETWORKS, "networks");
    html_table_end(page);
    fputs("<p class=\"note\">At least and at most: 95 % interval of the observed share, as if rows "
          "were independent; rows of one operator or network are not quite.</p></section>\n",
          page);
    return 0;
}

static int write_curve(FILE *page, const struct report *report, const struct plots *plots,
                       struct dlt_error *error)
{
    static const char *const columns[] = {"Operator", ">Rows",    ">RMSE", ">MAPE",
                                          ">Median",  ">In 90 %", NULL};
    const struct report_curve *curve = &report->curve;

    fputs("<section><h2>Learning curve</h2>\n", page);
    if (report_figure(page, plots, "curve", "Error against the number of rows learned from", error))
        return -1;
    fputs("<b>What more measurements are worth.</b> ", page);
    html_text(page, report_base_name(curve->path));
    fputs(" (", page);
    html_text(page, curve->device);
    fprintf(page,
            "): trained anew on growing parts of its %zu rows, in random order, and scored on the "
            "same n = %zu rows that no part holds%s%s. It took %.0f s.",
            curve->rows, curve->held_out,
            curve->begun ? "; networks of convolutions begin from those that " COMMAND_GENERAL
                           " keeps of other devices, as a training does"
                         : "",
            curve->stopped ? "; stopped before all rows, by the bounds on rows and time" : "",
            curve->seconds);
    report_figure_end(page);
    html_table(page, columns);
    for (size_t i = 0; i < curve->count; i++) {
        const struct report_curve_point *p = &curve->point[i];

        fputs("<tr>", page);
        html_cell(page, p->op);
        html_number(page, (double)p->trained, 9, "");
        html_number(page, 1e3 * p->summary.rmse, 4, "ms");
        html_percent(page, p->summary.mape);
        html_percent(page, p->summary.median_ape);
        html_percent(page, p->summary.coverage);
        fputs("</tr>\n", page);
    }
    html_table_end(page);
    fputs("</section>\n", page);
    return 0;
}

static int write_page(const struct report *report, const struct plots *plots,
                      const struct drawn *drawn, FILE *page, struct dlt_error *error)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<title>dltime: ",
          page);
    write_devices(page, report->scores);
    fprintf(page, "</title>\n<style>\n%s</style></head>\n<body><main>\n", report_style);
    write_header(page, report);
    fputs("<section><h2>Summary</h2>\n", page);
    write_tiles(page, report, SCORES_OPERATORS, "Operators");
    write_tiles(page, report, SCORES_NETWORKS, "Whole networks");
    fputs("</section>\n", page);
    if (write_predicted(page, report, plots, drawn, false, error) ||
        write_predicted(page, report, plots, drawn, true, error) ||
        (drawn->coverage && write_coverage(page, report, plots, error)) ||
        (drawn->curve && write_curve(page, report, plots, error)) ||
        (report->conf && report_write_partitions(page, report, plots, drawn->partitions, error)) ||
        (report->history && report_write_history(page, report, plots, drawn->history, error)))
        return -1;
    report_write_profile(page, report->profile);
    fputs("</main></body></html>\n", page);
    return 0;
}

int report_write(const struct report *report, FILE *page, struct dlt_error *error)
{
    struct drawn drawn = {0};
    struct plots *plots;
    int result;

    if (plots_create(&plots, error))
        return -1;
    for (int network = 0; network < 2; network++) {
        drawn.predicted[network] =
            report_draw_predicted(report, plots, network, &drawn.points[network]);
        drawn.residuals[network] = report_draw_residuals(report, plots, network);
    }
    drawn.coverage = report_draw_coverage(report, plots);
    drawn.curve = report_draw_curve(report, plots);
    drawn.partitions = report_draw_partitions(report, plots);
    drawn.history = report_draw_history(report, plots);
    result = plots_draw(plots, error);
    if (result == 0)
        result = write_page(report, plots, &drawn, page, error);
    plots_destroy(plots);
    return result;
}

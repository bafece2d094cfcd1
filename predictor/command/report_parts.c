/* SPDX-License-Identifier: Apache-2.0 */
/* The page's parts on the site and the profile, and what all parts are made of. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "command/html.h"
#include "command/report.h"
#include "predict/profile_format.h"

const char *report_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

int report_figure(FILE *page, const struct plots *plots, const char *name, const char *alt,
                  struct dlt_error *error)
{
    fprintf(page, "<figure role=\"img\" aria-label=\"%s\">\n", alt);
    if (plots_write(plots, name, page, error))
        return -1;
    fputs("<figcaption>", page);
    return 0;
}

void report_figure_end(FILE *page)
{
    fputs("</figcaption></figure>\n", page);
}

int report_write_partitions(FILE *page, const struct report *report, const struct plots *plots,
                            bool drawn, struct dlt_error *error)
{
    static const char *const columns[] = {"Partition", "Device",   ">Nodes", ">GPUs",
                                          ">Price",    "Rests on", ">Step",  ">5 %",
                                          ">95 %",     "",         NULL};

    fputs("<section><h2>Partitions</h2>\n", page);
    if (drawn) {
        if (report_figure(page, plots, "partitions", "Step time on each partition with its range",
                          error))
            return -1;
        fprintf(page, "<b>One network on every partition.</b> n = %zu kinds of nodes; ",
                report->partition_count);
        html_text(page, report_probe);
        fputs(" on one device, with the central 90 % range of the job's time. Colour: what the "
              "estimate rests on: ",
              page);
        for (int basis = DLT_BASIS_MEASURED; basis >= DLT_BASIS_COST_MODEL; basis--)
            fprintf(page, "<span class=\"swatch\" style=\"background:var(--c%d)\"></span> %s%s",
                    1 + DLT_BASIS_MEASURED - basis, dlt_basis_name((enum dlt_basis)basis),
                    basis > DLT_BASIS_COST_MODEL ? ", " : ".");
        report_figure_end(page);
    }
    html_table(page, columns);
    for (size_t i = 0; i < report->partition_count; i++) {
        const struct report_partition *p = &report->partition[i];

        fputs("<tr>", page);
        html_cell(page, p->name);
        html_cell(page, p->device);
        html_number(page, p->nodes ? (double)p->nodes : (double)NAN, 9, "");
        html_number(page, p->gpus ? (double)p->gpus : (double)NAN, 9, "");
        html_number(page, p->price, 4, "");
        html_cell(page, dlt_basis_name(p->basis));
        html_number(page, 1e3 * p->step_s, 4, "ms");
        html_number(page, 1e3 * p->low_s, 4, "ms");
        html_number(page, 1e3 * p->high_s, 4, "ms");
        fputs("<td class=\"why\">", page);
        html_text(page, p->why);
        fputs("</td></tr>\n", page);
    }
    html_table_end(page);
    fputs("<p class=\"note\">Partitions and profiles of ", page);
    html_text(page, report->conf);
    fputs(".</p></section>\n", page);
    return 0;
}

int report_write_history(FILE *page, const struct report *report, const struct plots *plots,
                         bool drawn, struct dlt_error *error)
{
    static const char *const columns[] = {"Partition", "Network", ">Factor",
                                          ">Users",    ">Jobs",   NULL};

    fputs("<section><h2>History</h2>\n", page);
    if (drawn) {
        if (report_figure(page, plots, "history", "Correction factors from finished jobs", error))
            return -1;
        fprintf(page,
                "<b>Corrections from finished jobs.</b> n = %zu corrections; by what the predicted "
                "time of a job is multiplied. Right of 1, jobs took longer than was predicted.",
                report->history->count);
        report_figure_end(page);
        html_table(page, columns);
    } else {
        fputs("<p>No correction yet: too few finished jobs.</p>\n", page);
    }
    for (size_t i = 0; i < report->history->count; i++) {
        const struct dlt_correction *c = &report->history->correction[i];
        char network[24] = "any";

        if (c->network)
            snprintf(network, sizeof network, "%016" PRIx64, c->network);
        fputs("<tr>", page);
        html_cell(page, c->partition);
        html_cell(page, network);
        html_number(page, c->factor, 3, "");
        html_number(page, c->users, 9, "");
        html_number(page, c->jobs, 9, "");
        fputs("</tr>\n", page);
    }
    if (drawn)
        html_table_end(page);
    fputs("<p class=\"note\">site.json of ", page);
    html_text(page, report->history_folder);
    fputs("; corrections of single users are theirs alone and not shown.</p></section>\n", page);
    return 0;
}

/* ---- the profile ----------------------------------------------------------------------------- */

static void write_sections(FILE *page, const struct dlt_profile *profile)
{
    static const char *const columns[] = {"Device", "Software",  "Operator", "Type",     "Rests on",
                                          ">Rows",  ">Held out", ">MAPE",    ">In 90 %", NULL};

    html_table(page, columns);
    for (uint32_t i = 0; i < profile->header->section_count; i++) {
        const struct dlt_file_section *s = &profile->section[i];
        char kind[sizeof s->kind + 1];

        if (dlt_section_is_start(s)) /* answers nothing */
            continue;
        snprintf(kind, sizeof kind, "%.*s", (int)sizeof s->kind, s->kind);
        fputs("<tr>", page);
        html_cell(page, dlt_profile_device(profile, s->entry)->name);
        html_cell(page, dlt_profile_software(profile, s->entry)->framework);
        html_cell(page, kind);
        html_cell(page, s->dtype < DLT_DTYPES ? dlt_dtype_names[s->dtype] : "?");
        html_cell(page, dlt_basis_name((enum dlt_basis)s->basis));
        html_number(page, s->rows, 9, "");
        html_number(page, (double)s->held_out, 9, "");
        html_percent(page, s->held_out ? s->mape : NAN);
        html_percent(page, s->held_out ? s->coverage90 : NAN);
        fputs("</tr>\n", page);
    }
    html_table_end(page);
}

static void write_sources(FILE *page, const struct dlt_profile *profile)
{
    static const char *const columns[] = {"File", "Source", ">Rows", ">Bytes", "Digest", NULL};

    html_table(page, columns);
    for (uint32_t i = 0; i < profile->header->source_count; i++) {
        const struct dlt_file_source *s = &profile->source[i];
        char path[sizeof s->path + 1], text[sizeof s->text + 1];

        snprintf(path, sizeof path, "%.*s", (int)sizeof s->path, s->path);
        snprintf(text, sizeof text, "%.*s", (int)sizeof s->text, s->text);
        fputs("<tr>", page);
        html_cell(page, report_base_name(path));
        html_cell(page, text);
        html_number(page, (double)s->rows, 9, "");
        html_number(page, (double)s->size, 12, "");
        fprintf(page, "<td class=\"code\">%016" PRIx64 "</td></tr>\n", s->digest);
    }
    html_table_end(page);
}

void report_write_profile(FILE *page, const struct dlt_profile *profile)
{
    fputs("<section><h2>The profile</h2>\n<h3>What it was trained on</h3>\n", page);
    write_sources(page, profile);
    fputs("<h3>Its own account, on rows held out of the training</h3>\n", page);
    write_sections(page, profile);
    fputs("</section>\n", page);
}

/*
 * html.h - text and figures from anywhere as HTML.
 */
#ifndef DLT_COMMAND_HTML_H
#define DLT_COMMAND_HTML_H

#include <stdio.h>
#include <time.h>

/* Writes text with & < > " ' escaped, and control characters and bytes that are not UTF-8 as '?'.
 */
void html_text(FILE *page, const char *text);

/* Cells of a table's body: text; a figure of some significant digits, or of all before its
 * point, right-aligned, with a unit ("" for none); a share as "4.5 %". Not finite: a dash. */
void html_cell(FILE *page, const char *text);
void html_number(FILE *page, double value, int digits, const char *unit);
void html_percent(FILE *page, double share);

/* Begins and ends a table. column: the headings, literals; a leading '>' aligns one with figures;
 * NULL ends them. */
void html_table(FILE *page, const char *const *column);
void html_table_end(FILE *page);

/* "2026-11-30 03:16 UTC" */
void html_date(FILE *page, time_t when);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "command/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void html_text(FILE *page, const char *text)
{
    static const char special[] = "&<>\"'";
    static const char *const escaped[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    char *clean = strdup(text);

    if (!clean) {
        fputs("?", page);
        return;
    }
    dlt_text_printable(clean);
    for (const char *p = clean; *p; p++) {
        const char *found = strchr(special, *p);

        if (found)
            fputs(escaped[found - special], page);
        else
            putc(*p, page);
    }
    free(clean);
}

void html_cell(FILE *page, const char *text)
{
    fputs("<td>", page);
    html_text(page, *text ? text : "–");
    fputs("</td>", page);
}

void html_number(FILE *page, double value, int digits, const char *unit)
{
    const double whole = ceil(log10(fabs(value) + 1)), most = 15; /* digits before the point */
    char buffer[32];

    if (whole > digits && whole <= most)
        digits = (int)whole;
    if (isfinite(value))
        fprintf(page, "<td class=\"n\">%s%s%s</td>", dlt_text_from_double(buffer, value, digits),
                *unit ? " " : "", unit);
    else
        fputs("<td class=\"n\">–</td>", page);
}

void html_percent(FILE *page, double share)
{
    if (isfinite(share))
        fprintf(page, "<td class=\"n\">%.1f %%</td>", 100 * share);
    else
        fputs("<td class=\"n\">–</td>", page);
}

void html_table(FILE *page, const char *const *column)
{
    fputs("<div class=\"wide\"><table><thead><tr>", page);
    for (; *column; column++) {
        bool number = **column == '>';

        fprintf(page, "<th%s>%s</th>", number ? " class=\"n\"" : "", *column + number);
    }
    fputs("</tr></thead><tbody>\n", page);
}

void html_table_end(FILE *page)
{
    fputs("</tbody></table></div>\n", page);
}

void html_date(FILE *page, time_t when)
{
    struct tm utc;
    char text[64];

    if (gmtime_r(&when, &utc) && strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &utc))
        html_text(page, text);
    else
        fputs("–", page);
}

/*
 * plot.h - plots by gnuplot as SVG that stands inside a page and takes the page's colours.
 *
 *     plots_create; for each plot: plots_begin, fprintf to the stream, plots_label for every text;
 *     plots_draw once; plots_write for each where it belongs; plots_destroy.
 *
 * Text that came out of files never reaches gnuplot: a label is a number to it, and its text is put
 * in, escaped, when the plot is written. Colours are '#0000NN', NN an enum plot_colour in
 * hexadecimal (PLOT_COLOUR), and become the page's custom properties --c1, --c2, ...
 */
#ifndef DLT_COMMAND_PLOT_H
#define DLT_COMMAND_PLOT_H

#include <stdio.h>

#include "dltime.h"

/* 1 to PLOT_SERIES are series. */
enum plot_colour {
    PLOT_SERIES = 6,
    PLOT_INK = 15,
    PLOT_AXIS,
    PLOT_GRID,
    PLOT_BAND,
    PLOT_REFERENCE
};

/* For fprintf: "lc rgb '" PLOT_COLOUR "'". */
#define PLOT_COLOUR "#0000%02x"

struct plots;

/* Whether gnuplot can be run. Returns -1 with the mend where not. */
int plots_available(struct dlt_error *error);

/* Commands and plots are kept in memory: there is no temporary file that a kill could leave. */
int plots_create(struct plots **plots, struct dlt_error *error);
void plots_destroy(struct plots *plots);

/* Begins a plot of that size in pixels; name: letters alone, one of its own. Returns the stream of
 * gnuplot commands. */
FILE *plots_begin(struct plots *plots, const char *name, int width, int height);
/* Writes a quoted string that will read as text, which is copied. */
void plots_label(struct plots *plots, const char *text);

/* Lets gnuplot draw all. */
int plots_draw(struct plots *plots, struct dlt_error *error);
/* Writes one as an <svg> element. */
int plots_write(const struct plots *plots, const char *name, FILE *page, struct dlt_error *error);

#endif

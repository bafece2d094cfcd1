/*
 * report.h - the parts of `dltime report`: what is gathered (report.c, report_curve.c,
 * report_site.c), what is drawn (report_scores.c, report_ranges.c), the page (report_page.c,
 * report_parts.c).
 */
#ifndef DLT_COMMAND_REPORT_H
#define DLT_COMMAND_REPORT_H

#include <stdio.h>
#include <time.h>

#include "command/plot.h"
#include "command/score.h"
#include "predict/history.h"

/* The error on rows left out, of what was learned from so many others. */
struct report_curve_point {
    char op[32];
    size_t trained; /* rows of this operator that were learned from */
    struct score_summary summary;
};

struct report_curve {
    const char *path;
    char device[96];
    struct report_curve_point *point; /* by operator, then by rows */
    size_t count, room;
    size_t rows, held_out; /* of the file; of those, never learned from */
    double seconds;        /* that it took */
    bool stopped;          /* by the bounds on rows and time before it had all rows */
    bool begun;            /* from networks of other devices, where the rows are convolutions' */
};

/* What a partition would rest on, asked as the plugin asks: report_probe on one device. */
struct report_partition {
    char name[64], device[96];
    int gpus, nodes; /* GPUs of a node; 0: CPUs compute. Nodes; 0: not said */
    double price;    /* NaN: not said */
    enum dlt_basis basis;
    double step_s, low_s, high_s; /* NaN: no estimate */
    char why[400];                /* then; "" otherwise */
};
extern const char report_probe[];

struct report {
    const char *profile_path;
    const struct dlt_profile *profile;
    char **file;
    int file_count;
    const struct scores *scores;
    struct report_curve curve; /* path NULL: none was asked for */
    const char *conf;          /* NULL: no partitions */
    struct report_partition *partition;
    size_t partition_count;
    const char *history_folder; /* NULL: no history */
    struct dlt_history *history;
    time_t now;
};

/* Fills the curve from a measurements file: trains on growing parts of a random order (seeded, so
 * that one file gives one curve) and scores a fifth, at most CURVE_HELD_OUT rows; ends at
 * CURVE_ROWS rows or where the next part would pass CURVE_SECONDS. Learns as `dltime train` does
 * without --base. */
enum { CURVE_HELD_OUT = 4000, CURVE_ROWS = 16000, CURVE_SECONDS = 90 };
int report_curve_make(const char *path, struct report_curve *curve, struct dlt_error *error);

/* Fills in conf's partitions. Fails where the configuration cannot be read or describes none. */
int report_partitions_make(struct report *report, struct dlt_error *error);

/* Rows that one plot shows together: operators (networks apart), the most frequent ones by name and
 * the rest as "others". */
enum { SERIES_OWN = 4, SERIES_MOST };
struct report_series {
    char name[sizeof((struct score_key *)0)->op];
    size_t count;
};
/* Returns how many there are, the largest first. */
size_t report_series(const struct scores *scores, bool network,
                     struct report_series series[SERIES_MOST]);
/* Position of a group's series; -1: it is in none (a part, or of the other kind). */
int report_series_of(const struct report_series *series, size_t count, bool network,
                     const struct score_group *group);

/* Levels at which promised and observed coverage are compared. */
enum { REPORT_LEVELS = 12 };
extern const double report_levels[REPORT_LEVELS];
/* Share of the points that lie in the central `level` of their prediction; NaN without points.
 * low, high: its 95 % interval (Wilson 1927), as if rows were independent. */
double report_coverage(const struct score_point *point, size_t count, double level, double *low,
                       double *high);

/* One line of a plot of ranges; q1 and q3 NaN: no box. */
struct report_range {
    char label[64];
    double low, q1, middle, q3, high;
    int colour;
};
enum { RANGES_MOST = 36 };
/* Horizontal ranges on a logarithmic axis; `reference`: a line there; 0: none. */
void report_draw_ranges(struct plots *plots, const char *name, const struct report_range *range,
                        size_t count, const char *axis, double reference);
/* Sets labelled tics of a logarithmic axis ("x", "y") from low to high, and its range. */
void report_log_axis(FILE *script, const char *axis, double low, double high);

/* Draw what there is to draw; false: nothing. drawn: of how many points, at most. */
enum { POINTS_MOST = 2500 };
bool report_draw_predicted(const struct report *report, struct plots *plots, bool network,
                           size_t *drawn);
bool report_draw_residuals(const struct report *report, struct plots *plots, bool network);
bool report_draw_coverage(const struct report *report, struct plots *plots);
bool report_draw_curve(const struct report *report, struct plots *plots);
bool report_draw_partitions(const struct report *report, struct plots *plots);
bool report_draw_history(const struct report *report, struct plots *plots);

/* What the page is made of. A figure's caption is written between the two; alt: plain text. */
int report_figure(FILE *page, const struct plots *plots, const char *name, const char *alt,
                  struct dlt_error *error);
void report_figure_end(FILE *page);
const char *report_base_name(const char *path);

/* Sections of the page. drawn: there is a plot. */
int report_write_partitions(FILE *page, const struct report *report, const struct plots *plots,
                            bool drawn, struct dlt_error *error);
int report_write_history(FILE *page, const struct report *report, const struct plots *plots,
                         bool drawn, struct dlt_error *error);
void report_write_profile(FILE *page, const struct dlt_profile *profile);

/* Draws and writes the whole page. */
int report_write(const struct report *report, FILE *page, struct dlt_error *error);

#endif

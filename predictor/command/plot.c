/* SPDX-License-Identifier: Apache-2.0 */
#include "command/plot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../plugin/advise/child.h"
#include "base/error.h"
#include "base/file.h"
#include "command/html.h"

enum { NAMES = 16, NAME_SIZE = 24, SVG_LIMIT = 64 << 20, MESSAGE_LIMIT = 65536 };
static const double deadline_s = 120;

/* A file in memory that gnuplot inherits and opens by path. */
struct memory {
    int fd;
    char path[32];
};

struct plots {
    struct memory commands;
    FILE *script; /* writes them */
    struct {
        char name[NAME_SIZE];
        struct memory svg;
    } plot[NAMES];
    size_t plot_count;
    char **label;
    size_t label_count;
    bool failed; /* out of memory, or more plots than names */
};

/* Its plots go to files; what it says is collected. */
static int run_gnuplot(FILE *stream, void *context)
{
    const char *argument = context;

    dup2(fileno(stream), STDOUT_FILENO);
    dup2(fileno(stream), STDERR_FILENO);
    setenv("LC_ALL", "C", 1);
    unsetenv("GNUTERM");
    execlp("gnuplot", "gnuplot", "-d", argument, (char *)NULL);
    fprintf(stream,
            "cannot be run: %s; the plots need it: install it (Debian: gnuplot-nox, others: "
            "gnuplot)",
            strerror(errno));
    return -1;
}

static int call_gnuplot(char *argument, struct dlt_error *error)
{
    char *text;
    size_t size;

    if (dlt_child_collect(run_gnuplot, argument, "gnuplot", deadline_s, MESSAGE_LIMIT, &text, &size,
                          error))
        return -1;
    free(text);
    return 0;
}

int plots_available(struct dlt_error *error)
{
    char version[] = "--version";

    return call_gnuplot(version, error);
}

/* Not closed on exec: gnuplot is to have it under the same number. */
static int make_memory(struct memory *memory, const char *name)
{
    memory->fd = memfd_create(name, 0);
    snprintf(memory->path, sizeof memory->path, "/proc/self/fd/%d", memory->fd);
    return memory->fd < 0 ? -1 : 0;
}

int plots_create(struct plots **plots, struct dlt_error *error)
{
    struct plots *made = calloc(1, sizeof *made);

    *plots = NULL;
    if (!made)
        return dlt_fail_memory(error);
    if (make_memory(&made->commands, "script") == 0)
        made->script = fopen(made->commands.path, "we");
    if (!made->script) {
        dlt_fail(error, "gnuplot's commands cannot be written to memory: %s", strerror(errno));
        plots_destroy(made);
        return -1;
    }
    *plots = made;
    return 0;
}

void plots_destroy(struct plots *plots)
{
    if (!plots)
        return;
    if (plots->script)
        fclose(plots->script);
    if (plots->commands.fd >= 0)
        close(plots->commands.fd);
    for (size_t i = 0; i < plots->plot_count; i++)
        if (plots->plot[i].svg.fd >= 0)
            close(plots->plot[i].svg.fd);
    for (size_t i = 0; i < plots->label_count; i++)
        free(plots->label[i]);
    free(plots->label);
    free(plots);
}

FILE *plots_begin(struct plots *plots, const char *name, int width, int height)
{
    const char *path = "";

    if (plots->plot_count == NAMES) {
        plots->failed = true;
    } else {
        snprintf(plots->plot[plots->plot_count].name, NAME_SIZE, "%s", name);
        if (make_memory(&plots->plot[plots->plot_count].svg, name))
            plots->failed = true;
        path = plots->plot[plots->plot_count++].svg.path;
    }
    fprintf(plots->script,
            "reset\n"
            "set terminal svg size %d,%d dynamic noenhanced font 'sans-serif,13' name '%s'\n"
            "set output '%s'\n"
            "set border 3 lw 0.8 lc rgb '" PLOT_COLOUR "'\n"
            "set tics nomirror scale 0.5 textcolor rgb 'black'\n"
            "set grid lt 1 lw 0.6 lc rgb '" PLOT_COLOUR "'\n"
            "set key top left Left reverse samplen 1.5 spacing 1.2 noopaque\n",
            width, height, name, path, PLOT_AXIS, PLOT_GRID);
    return plots->script;
}

void plots_label(struct plots *plots, const char *text)
{
    char **larger = reallocarray(plots->label, plots->label_count + 1, sizeof *larger);
    char *copy = strdup(text);

    if (larger)
        plots->label = larger;
    if (!larger || !copy) {
        free(copy);
        plots->failed = true;
        return;
    }
    fprintf(plots->script, "'@%zu@'", plots->label_count);
    plots->label[plots->label_count++] = copy;
}

int plots_draw(struct plots *plots, struct dlt_error *error)
{
    int failed;

    fputs("set output\n", plots->script);
    failed = ferror(plots->script);
    failed |= fclose(plots->script);
    plots->script = NULL;
    if (failed) /* limits on files' sizes count in memory too */
        return dlt_fail(error, "gnuplot's commands cannot be written to memory: %s",
                        strerror(errno));
    if (plots->failed)
        return dlt_fail_memory(error);
    return call_gnuplot(plots->commands.path, error);
}

/* Identifiers that every plot of gnuplot's defines: one page has them once. */
static size_t identifier_at(const char *p)
{
    static const char *const names[] = {"gpPt", "gpDot", "textbox", "greybox", "gnuplot_canvas"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);

        if (strncmp(p, names[i], length) == 0)
            return length;
    }
    return 0;
}

/* "rgb(  0,   0,   N)" at p: its length and N; 0 where there is none. */
static int colour_at(const char *p, int *colour)
{
    int red, green, used = 0;

    if (sscanf(p, "rgb( %d, %d, %d)%n", &red, &green, colour, &used) != 3 || red || green)
        return 0;
    return used;
}

/* "@N@" at p: its length, and the label's text. */
static size_t label_at(const struct plots *plots, const char *p, const char **text)
{
    char *end;
    unsigned long index;

    if (p[0] != '@' || p[1] < '0' || p[1] > '9')
        return 0;
    index = strtoul(p + 1, &end, 10);
    if (*end != '@' || index >= plots->label_count)
        return 0;
    *text = plots->label[index];
    return (size_t)(end + 1 - p);
}

/* The length of what is at p if it is left out: names that a browser would show as tool tips. */
static size_t left_out(const char *p)
{
    const char *end = NULL;

    if (strncmp(p, "<title>", 7) == 0)
        end = strstr(p, "</title>");
    return end ? (size_t)(end + 8 - p) : 0;
}

/* Copies an SVG, with the page's colours, texts and identifiers. */
static void write_svg(const struct plots *plots, const char *name, const char *svg, FILE *page)
{
    static const char black[] = "\"black\"";

    for (const char *p = svg; *p;) {
        size_t length;
        const char *text;
        int colour, used = 0;

        if (*p == 'r' && (used = colour_at(p, &colour))) {
            if (colour == 0)
                fputs("currentColor", page);
            else
                fprintf(page, "var(--c%d)", colour);
            p += used;
        } else if (*p == '"' && strncmp(p, black, sizeof black - 1) == 0) {
            fputs("\"currentColor\"", page);
            p += sizeof black - 1;
        } else if (*p == '@' && (length = label_at(plots, p, &text))) {
            html_text(page, text);
            p += length;
        } else if ((*p == 'g' || *p == 't') && (length = identifier_at(p))) {
            fprintf(page, "%s-%.*s", name, (int)length, p);
            p += length;
        } else if (*p == '<' && (length = left_out(p))) {
            p += length;
        } else {
            putc(*p++, page);
        }
    }
}

int plots_write(const struct plots *plots, const char *name, FILE *page, struct dlt_error *error)
{
    const char *svg;
    size_t size, i = 0;
    char *data;

    while (i < plots->plot_count && strcmp(plots->plot[i].name, name) != 0)
        i++;
    if (i == plots->plot_count)
        return dlt_fail(error, "gnuplot: there is no plot %s", name);
    if (dlt_file_read(plots->plot[i].svg.path, SVG_LIMIT, &data, &size, error))
        return -1;
    svg = strstr(data, "<svg");
    if (svg)
        write_svg(plots, name, svg, page);
    free(data);
    return svg ? 0 : dlt_fail(error, "gnuplot: drew no SVG; version 5.0 or newer is needed");
}

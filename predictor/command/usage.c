/* SPDX-License-Identifier: Apache-2.0 */
/* What every command of dltime and dlbench says when something is wrong. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "command/command.h"

int command_fail(const char *command, const struct dlt_error *error)
{
    fprintf(stderr, "%s %s: %s\n", program_invocation_short_name, command, error->text);
    return COMMAND_FAILED;
}

int command_usage(const char *command, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    dlt_text_printable(text);
    fprintf(stderr, "%s %s: %s\nTry: %s %s --help\n", program_invocation_short_name, command, text,
            program_invocation_short_name, command);
    return COMMAND_USAGE;
}

int command_unknown(const char *command, const struct option *options, char *const *argv)
{
    enum { MOST = 64 };
    const char *names[MOST], *nearest, *word = argv[optind - 1];
    const bool is_long = strncmp(word, "--", 2) == 0, with_value = strchr(word, '=') != NULL;
    char asked[64];
    size_t count = 0;

    for (; options->name; options++) {
        /* A letter out of a word of several is told while the word before it still stands here. */
        if (is_long && optopt && options->val == optopt &&
            with_value == (options->has_arg == no_argument))
            return command_usage(command, "--%s takes %s value", options->name,
                                 options->has_arg == no_argument ? "no" : "a");
        if (count < MOST)
            names[count++] = options->name;
    }
    if (optopt) /* one letter, of a word that need not be at its end */
        return command_usage(command, "-%c: unknown option", optopt);
    snprintf(asked, sizeof asked, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    nearest = dlt_text_nearest(asked, names, count);
    if (nearest)
        return command_usage(command, "--%s: unknown option; did you mean --%s?", asked, nearest);
    return command_usage(command, "--%s: unknown option", asked);
}

int command_options(const char *command, const char *help, const struct option *options, int argc,
                    char **argv, command_take *take, void *context)
{
    int option, index;

    optind = 0;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", options, &index)) != -1) {
        int status;

        if (option == '?')
            return command_unknown(command, options, argv);
        if (strcmp(options[index].name, "help") == 0) {
            fputs(help, stdout);
            return COMMAND_DONE;
        }
        if (optarg && !*optarg)
            return command_usage(command, "--%s: its value is empty", options[index].name);
        status = take(option, optarg, context);
        if (status > 0)
            return status;
    }
    return -1;
}

int command_whole(const char *command, const char *option, const char *text, int64_t least,
                  int64_t most, int64_t *value)
{
    if (dlt_text_to_int64(text, value) && *value >= least && *value <= most)
        return COMMAND_DONE;
    return command_usage(command, "--%s takes a whole number from %lld to %lld, not \"%s\"", option,
                         (long long)least, (long long)most, text);
}

/* open takes the lowest descriptor that is free. Each is opened for what it is not used for. */
void command_hold_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) == -1)
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int command_finish(const char *command, int status)
{
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "%s %s: standard output: %s\n", program_invocation_short_name, command,
                strerror(errno));
        return COMMAND_FAILED;
    }
    return status;
}

bool command_same_file(const char *a, const char *b)
{
    struct stat one, other;

    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../plugin/advise/child.h"
#include "base/error.h"
#include "base/file.h"
#include "base/known.h"
#include "base/text.h"
#include "command/command.h"
#include "command/resubmit.h"
#include "learn/accounting.h"
#include "learn/finished.h"
#include "predict/tag.h"

static const char help[] =
    "Usage: dltime learn --sacct|FILE... --output FOLDER [OPTION]...\n"
    "Corrections from finished jobs: by how much they took longer than was predicted.\n\n"
    "  --sacct            ask Slurm's accounting, as root or SlurmUser for everybody's jobs\n"
    "  --since WHEN       with --sacct, from when on (default now-90days)\n"
    "  FILE...            what sacct --allocations --parsable2 printed, with its header\n"
    "  --output FOLDER    writes site.json and users/NAME.json there\n"
    "  --conf FILE        dltime.conf, for jobs without a tag\n"
    "  --half-life DAYS   after which a job counts half (default 30)\n\n"
    "A job is recognised by the tag in its comment (tag in dltime.conf, and\n"
    "AccountingStoreFlags=job_comment in slurm.conf), or by --dl-model in its SubmitLine.\n";

struct options {
    bool sacct;
    const char *since, *output, *conf;
    struct dlt_finished_settings settings;
    char **file;
    int file_count;
};

/* How the jobs of the accounting fared. */
struct tally {
    size_t jobs, tagged, retold, unfinished, unknown;
};

enum { SACCT_LIMIT = 512 << 20, FILE_LIMIT = 512 << 20, SACCT_SECONDS = 600 };

static enum dlt_finish finish_of(const char *state, bool *used)
{
    *used = strcmp(state, "COMPLETED") == 0 || strcmp(state, "TIMEOUT") == 0;
    return strcmp(state, "TIMEOUT") == 0 ? DLT_TIMED_OUT : DLT_COMPLETED;
}

/* Whether a name can be printed: bytes of UTF-8 can. */
static bool is_text(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || *name == 0x7f)
            return false;
    return true;
}

/* A user's name is a file's name later. */
static bool is_plain(const char *name)
{
    return *name && *name != '.' && *name != '-' && !strchr(name, '/') && strlen(name) < 64 &&
           is_text(name);
}

static int take_job(const struct dlt_account *account, struct resubmit *resubmit,
                    struct dlt_finished *finished, struct tally *tally)
{
    struct dlt_finished_job job = {0};
    double end = dlt_account_end(account->field[DLT_ACCOUNT_END]);
    struct dlt_tag tag;
    bool used;

    tally->jobs++;
    job.finish = finish_of(account->field[DLT_ACCOUNT_STATE], &used);
    if (!dlt_text_to_double(account->field[DLT_ACCOUNT_ELAPSED], &job.elapsed_s) ||
        !(job.elapsed_s > 0) || isnan(end) || !used ||
        !dlt_text_copy(job.partition, sizeof job.partition,
                       account->field[DLT_ACCOUNT_PARTITION]) ||
        !job.partition[0] || !is_text(job.partition) ||
        !is_plain(account->field[DLT_ACCOUNT_USER])) {
        tally->unfinished++;
        return 0;
    }
    if (dlt_tag_find(account->field[DLT_ACCOUNT_COMMENT], &tag)) {
        tally->tagged++;
    } else if (resubmit_estimate(resubmit, account->field[DLT_ACCOUNT_SUBMIT], job.partition,
                                 &tag)) {
        tally->retold++;
    } else {
        tally->unknown++;
        return 0;
    }
    dlt_text_copy(job.user, sizeof job.user, account->field[DLT_ACCOUNT_USER]);
    job.network = tag.network;
    job.predicted_s = tag.job_s;
    job.age_s = fmax((double)time(NULL) - end, 0);
    return dlt_finished_add(finished, &job);
}

static int take_text(char *text, size_t size, const char *delimiter, bool header,
                     struct resubmit *resubmit, struct dlt_finished *finished, struct tally *tally,
                     struct dlt_error *error)
{
    struct dlt_account *jobs;
    size_t count;
    int result;

    /* A NUL would end the text, and hide every job behind it. */
    for (char *nul = text; (nul = memchr(nul, '\0', size - (size_t)(nul - text)));)
        *nul = '?';
    result = dlt_account_parse(text, delimiter, header, &jobs, &count, error);

    for (size_t i = 0; i < count && result == 0; i++)
        if (take_job(&jobs[i], resubmit, finished, tally))
            result = dlt_fail_memory(error);
    free(jobs);
    return result;
}

/* sacct, and where it says what is wrong. */
struct program {
    char *const *argv;
    int said;
};

/* Runs in the child and becomes sacct. */
static int run_sacct(FILE *stream, void *context)
{
    const struct program *program = context;

    dup2(fileno(stream), STDOUT_FILENO);
    dup2(program->said, STDERR_FILENO);
    execvp(program->argv[0], program->argv);
    fprintf(stream, "sacct cannot be run: %s", strerror(errno));
    return -1;
}

static int read_sacct(const struct options *o, struct resubmit *resubmit,
                      struct dlt_finished *finished, struct tally *tally, struct dlt_error *error)
{
    char delimiter[64], format[sizeof "--format=" + 128], since[128];
    char program[] = "sacct", all[] = "--allusers", whole[] = "--allocations",
         parsable[] = "--parsable2", bare[] = "--noheader", states[] = "--state=CD,TO",
         until[] = "--endtime=now"; /* with a state it would be the start otherwise */
    char delimit[sizeof "--delimiter=" + sizeof delimiter];
    char *argv[] = {program, all,    whole, parsable, bare, states,
                    delimit, format, since, until,    NULL};
    struct program sacct = {argv, -1};
    unsigned long long secret[2];
    char *text;
    size_t size;
    int result;

    if (getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret)
        return dlt_fail(error, "no random numbers: %s", strerror(errno));
    snprintf(delimiter, sizeof delimiter, "<%016llx%016llx>", secret[0], secret[1]);
    snprintf(delimit, sizeof delimit, "--delimiter=%s", delimiter);
    snprintf(format, sizeof format, "--format=%s", dlt_account_format);
    snprintf(since, sizeof since, "--starttime=%s", o->since);
    sacct.said = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    result = dlt_child_collect(run_sacct, &sacct, "sacct", SACCT_SECONDS, SACCT_LIMIT, &text, &size,
                               error);
    if (sacct.said >= 0)
        close(sacct.said);
    if (result)
        return -1;
    result = take_text(text, size, delimiter, false, resubmit, finished, tally, error);
    free(text);
    return result;
}

static int read_file(const char *path, struct resubmit *resubmit, struct dlt_finished *finished,
                     struct tally *tally, struct dlt_error *error)
{
    char *text;
    size_t size;

    if (dlt_file_read(path, FILE_LIMIT, &text, &size, error))
        return -1;
    if (take_text(text, size, "|", true, resubmit, finished, tally, error)) {
        free(text);
        return dlt_fail_in(error, "%s: ", path);
    }
    free(text);
    return 0;
}

static int make_folder(const char *path, mode_t mode, struct dlt_error *error)
{
    if (mkdir(path, mode) == 0 || errno == EEXIST)
        return 0;
    return dlt_fail(error, "%s: cannot be made: %s", path, strerror(errno));
}

/* One user's own file, which only he can read. */
static int write_user(struct dlt_finished *finished, const char *user,
                      const struct dlt_history *site, const struct options *o,
                      struct dlt_error *error)
{
    struct dlt_history own = {0};
    const struct passwd *account = geteuid() == 0 ? getpwnam(user) : NULL;
    struct dlt_history_owner owner = {.given = account != NULL, .mode = 0600};
    char path[PATH_MAX];
    int result = dlt_finished_user(finished, user, site, &o->settings, &own, error);

    if (account) {
        owner.user = account->pw_uid;
        owner.group = account->pw_gid;
    }
    snprintf(path, sizeof path, "%s/users/%s.json", o->output, user);
    if (result == 0)
        result = dlt_history_save(&own, path, &owner, error);
    free(own.correction);
    return result;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int write_users(struct dlt_finished *finished, const struct dlt_history *site,
                       const struct options *o, size_t *users, struct dlt_error *error)
{
    char **name = calloc(finished->count + 1, sizeof *name);
    int result = name ? 0 : dlt_fail_memory(error);

    *users = 0;
    for (size_t i = 0; i < finished->count && result == 0; i++)
        if (!(name[i] = DLT_KEPT(strdup(finished->job[i].user))))
            result = dlt_fail_memory(error);
    if (result == 0 && finished->count > 0)
        qsort(name, finished->count, sizeof *name, by_text);
    for (size_t i = 0; i < finished->count && result == 0; i++) {
        if (i > 0 && strcmp(name[i], name[i - 1]) == 0)
            continue;
        result = write_user(finished, name[i], site, o, error);
        ++*users;
    }
    for (size_t i = 0; name && i < finished->count; i++)
        free(name[i]);
    free(name);
    return result;
}

static void print_site(const struct dlt_history *site)
{
    if (site->count)
        printf("%-18s %-20s %8s %6s %6s\n", "NETWORK", "PARTITION", "FACTOR", "USERS", "JOBS");
    for (size_t i = 0; i < site->count; i++) {
        const struct dlt_correction *c = &site->correction[i];
        char network[24] = "any";

        if (c->network)
            snprintf(network, sizeof network, "%016llx", (unsigned long long)c->network);
        printf("%-18s %-20s %8.3f %6.0f %6.0f\n", network, c->partition, c->factor, c->users,
               c->jobs);
    }
}

static void report(const struct tally *t, size_t users)
{
    fprintf(stderr,
            "dltime learn: %zu jobs: %zu by their tag, %zu by their command line, %zu of other "
            "kinds, %zu failed or without a time; files of %zu users\n",
            t->jobs, t->tagged, t->retold, t->unknown, t->unfinished, users);
    if (t->jobs == 0)
        fprintf(stderr,
                "dltime learn: the accounting has no finished job; slurm.conf keeps them with "
                "AccountingStorageType=accounting_storage/slurmdbd, and with PrivateData=jobs "
                "shows others' only to operators\n");
    else if (t->tagged == 0)
        fprintf(stderr, "dltime learn: no job has a tag; tags need `tag = true` in dltime.conf and "
                        "AccountingStoreFlags=job_comment in slurm.conf\n");
}

static int write_all(struct dlt_finished *finished, const struct options *o, size_t *users,
                     struct dlt_error *error)
{
    const struct dlt_history_owner everybody = {.mode = 0644};
    struct dlt_history site = {0};
    char path[PATH_MAX];
    int result = -1;

    if (snprintf(path, sizeof path, "%s/users", o->output) >= PATH_MAX - 80)
        return dlt_fail(error, "%s: the path is too long", o->output);
    if (dlt_finished_site(finished, &o->settings, &site, error) == 0 &&
        make_folder(o->output, 0755, error) == 0 && make_folder(path, 0711, error) == 0) {
        result = write_users(finished, &site, o, users, error);
        snprintf(path, sizeof path, "%s/site.json", o->output);
        if (result == 0)
            result = dlt_history_save(&site, path, &everybody, error);
        if (result == 0)
            print_site(&site);
    }
    free(site.correction);
    return result;
}

static int learn(const struct options *o)
{
    struct dlt_finished finished = {0};
    struct tally tally = {0};
    struct resubmit *resubmit = NULL;
    struct dlt_error error;
    size_t users = 0;
    int result = resubmit_create(o->conf, &resubmit, &error);

    if (result == 0 && o->sacct)
        result = read_sacct(o, resubmit, &finished, &tally, &error);
    for (int i = 0; i < o->file_count && result == 0; i++)
        result = read_file(o->file[i], resubmit, &finished, &tally, &error);
    if (result == 0)
        result = write_all(&finished, o, &users, &error);
    if (result == 0)
        report(&tally, users);
    resubmit_destroy(resubmit);
    dlt_finished_clear(&finished);
    return result ? command_fail("learn", &error) : COMMAND_DONE;
}

enum { SACCT = 256, SINCE, OUTPUT, CONF, HALF_LIFE, HELP };

static const struct option long_options[] = {
    {"sacct", no_argument, NULL, SACCT},
    {"since", required_argument, NULL, SINCE},
    {"output", required_argument, NULL, OUTPUT},
    {"conf", required_argument, NULL, CONF},
    {"half-life", required_argument, NULL, HALF_LIFE},
    {"help", no_argument, NULL, HELP},
    {0},
};

static int take_option(int option, char *value, void *context)
{
    struct options *o = context;
    int64_t days;
    int status = COMMAND_DONE;

    switch (option) {
    case SACCT:
        o->sacct = true;
        break;
    case SINCE:
        if (strlen(value) > 100)
            return command_usage("learn", "--since takes a time as sacct does");
        o->since = value;
        break;
    case OUTPUT:
        o->output = value;
        break;
    case CONF:
        o->conf = value;
        break;
    case HALF_LIFE:
        status = command_whole("learn", "half-life", value, 1, 10000, &days);
        o->settings.half_life_s = status == COMMAND_DONE ? (double)days * 86400 : 0;
        break;
    }
    return status;
}

int command_learn(int argc, char **argv)
{
    struct options o = {.since = "now-90days"};
    int status = command_options("learn", help, long_options, argc, argv, take_option, &o);

    if (status >= 0)
        return status;
    o.file = argv + optind;
    o.file_count = argc - optind;
    if (o.sacct == (o.file_count > 0))
        return command_usage("learn", "give --sacct or files of sacct's output");
    if (!o.output || !*o.output)
        return command_usage("learn", "say where to write corrections: --output FOLDER");
    return learn(&o);
}

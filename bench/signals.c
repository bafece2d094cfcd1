/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stddef.h>

#include "runner.h"

static volatile sig_atomic_t seen;

static void notice(int signal)
{
    (void)signal;
    seen = 1;
}

void bench_signals_catch(void)
{
    struct sigaction action = {.sa_handler = notice, .sa_flags = (int)SA_RESETHAND};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool bench_signals_seen(void)
{
    return seen != 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/version.h"

#include <stdio.h>

#include "dltime.h"

/* The Makefile says them; a file compiled by itself knows nothing. */
#ifndef DLT_COMMIT
#define DLT_COMMIT         "unknown"
#define DLT_BUILD_FLAGS    "unknown"
#define DLT_BUILD_BLAS     "unknown"
#define DLT_BUILD_BACKENDS "unknown"
#endif

#ifdef __clang__
static const char compiler[] = "clang " __clang_version__;
#else
static const char compiler[] = "gcc " __VERSION__;
#endif

const char *dlt_version_commit(void)
{
    return DLT_COMMIT;
}

void dlt_version_print(const char *program)
{
    printf("%s %s (%s)\n", program, DLT_VERSION, DLT_COMMIT);
    printf("compiler %s, %s\n", compiler, DLT_BUILD_FLAGS);
    printf("BLAS %s; for backends %s\n", DLT_BUILD_BLAS, DLT_BUILD_BACKENDS);
}

/* known.h - what always holds where the static analyser, which sees one function at a time, cannot
 * know it. Nothing is left of it in a program. */
#ifndef DLT_BASE_KNOWN_H
#define DLT_BASE_KNOWN_H

#ifdef __clang_analyzer__
#define DLT_KNOWN(condition)                                                                       \
    do {                                                                                           \
        if (!(condition))                                                                          \
            __builtin_unreachable();                                                               \
    } while (0)
#else
#define DLT_KNOWN(condition) ((void)0)
#endif

#endif

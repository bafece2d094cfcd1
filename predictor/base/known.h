/* known.h - what always holds where the static analysers, which see one function at a time, cannot
 * know it. Nothing is left of it in a program. */
#ifndef DLT_BASE_KNOWN_H
#define DLT_BASE_KNOWN_H

#ifdef __clang_analyzer__
#define DLT_KNOWN(condition)                                                                       \
    do {                                                                                           \
        if (!(condition))                                                                          \
            __builtin_unreachable();                                                               \
    } while (0)
/* The memory that an allocation gives, where it is kept behind pointers that the analyser loses. */
void *dlt_known_kept(void *memory);
#define DLT_KEPT(allocation) dlt_known_kept(allocation)
#else
#define DLT_KNOWN(condition) ((void)0)
#define DLT_KEPT(allocation) (allocation)
#endif

#endif

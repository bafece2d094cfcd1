/* SPDX-License-Identifier: Apache-2.0 */
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 16 };

int dlt_grow(void *array, size_t element, size_t count, size_t more, size_t *room)
{
    size_t needed, wanted = *room ? *room : FIRST_ROOM;
    void *memory, *larger;

    if (__builtin_add_overflow(count, more, &needed))
        return -1;
    if (needed <= *room)
        return 0;
    while (wanted < needed)
        if (__builtin_mul_overflow(wanted, 2, &wanted))
            return -1;
    memcpy(&memory, array, sizeof memory); /* a pointer of any type */
    larger = reallocarray(memory, wanted, element);
    if (!larger)
        return -1;
    memcpy(array, &larger, sizeof larger);
    *room = wanted;
    return 0;
}

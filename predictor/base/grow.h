/* grow.h - arrays that grow. */
#ifndef DLT_BASE_GROW_H
#define DLT_BASE_GROW_H

#include <stddef.h>

/*
 * Makes room for `more` elements behind the `count` that an array has. array: the address of the
 * pointer to it, which is malloc'ed, or NULL before the first; element: bytes of one; *room:
 * elements that it has room for, at least doubled where they do not suffice. Returns 0, or -1 out
 * of memory, and then nothing has changed.
 *
 *     if (dlt_grow(&list->item, sizeof *list->item, list->count, 1, &list->room))
 *         return -1;
 *     list->item[list->count++] = item;
 */
int dlt_grow(void *array, size_t element, size_t count, size_t more, size_t *room);

#endif

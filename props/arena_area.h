/* Stretches of memory with an unreadable page before and after each, kept from one use to the next:
 * changing protections at every call would cost more than the calls. */
#ifndef PROPS_ARENA_AREA_H
#define PROPS_ARENA_AREA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "impl/error.h"

enum { AREA_PAGE = 4096 };

/* A grid of slots; outer and inner index, each slot `bytes` long. */
typedef struct area {
    size_t bytes; /* of a slot, whole pages; 0 = not mapped yet */
    int64_t outer, inner;
    int64_t outer_stride, inner_stride; /* bytes from slot to slot, at least bytes + a page */
    unsigned char *writable;            /* first byte of slot 0 */
    unsigned char *view; /* the same memory, read-only when so wanted; else = writable */
    void *base[2];
    size_t total;
} area;

/* Maps; what was there is unmapped. The memory is shared between the two views, and private to this
 * process as long as it does not fork. */
bool area_map(area *a, size_t bytes, int64_t outer, int64_t inner, int64_t outer_stride,
              int64_t inner_stride, bool read_only_view, rope_error *error);
void area_unmap(area *a);

/* Whether so many bytes of address space can be reserved; nothing stays reserved. */
bool area_reservable(size_t bytes);

#endif

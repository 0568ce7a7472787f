/* Memory for tensors of many megabytes between unreadable pages, on huge pages where there are any.
 * Kept from one use to the next: pages would have to be cleared again. (props/arena.h shares its
 * memory between two views, which huge pages do not do.) */
#ifndef PROPS_ROOM_H
#define PROPS_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "props/arena.h"

/* All zero: nothing mapped yet. */
typedef struct prop_room {
    unsigned char *data; /* whole huge pages, an unreadable page before and after */
    size_t bytes;
    void *base;
    size_t total;
} prop_room;

/* At least so many bytes, writable; what was there may be gone. False when memory is out. */
bool prop_room_fit(prop_room *r, size_t bytes);

/* Makes the whole room read-only, or writable again. */
void prop_room_lock(const prop_room *r, bool locked);

/* A tensor in a room: its first row starts, or its last row ends, `shift` elements from the
 * unreadable page. */
typedef struct prop_tensor {
    prop_shape shape;
    size_t element;
    unsigned char *first;
    int64_t token_stride, head_stride; /* elements */
    size_t span;                       /* bytes from the first element to the end of the last row */
    unsigned char *low, *high;         /* with a margin at both ends, as far as the room goes */
} prop_tensor;

/* Places the tensor (any place but START: END), and fills it and its margins with NaN. False when
 * memory is out. */
bool prop_tensor_lay(prop_tensor *a, prop_room *r, const prop_shape *shape, size_t element);

unsigned char *prop_tensor_row(const prop_tensor *a, int64_t token, int64_t head);

/* Whether rows of a token, and tokens, follow one another. */
bool prop_tensor_packed(const prop_tensor *a);

/* Whether all outside the rows is as it was; else *offset is the element that is not, counted from
 * the first. Overwrites the rows of a tensor that is not packed. */
bool prop_tensor_clean(const prop_tensor *a, int64_t *offset);

#endif

/* Buffers between unreadable pages, poisoned. A tensor is placed so that its first row starts, or
 * its last row ends, at a page that can be neither read nor written; or so that every row has its
 * own page between such pages, as far apart as wanted. Everything around the rows is a canary. */
#ifndef PROPS_ARENA_H
#define PROPS_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "impl/error.h"
#include "impl/rope.h"

typedef enum prop_place {
    PROP_PLACE_START = 0, /* the first element is the first of a page, an unreadable one before */
    PROP_PLACE_END = 1,   /* the last element is the last of a page, an unreadable one after */
    PROP_PLACE_ROWS = 2,  /* each row ends at an unreadable page, and has one before its page */
    PROP_PLACE_FAR_TOKENS =
        3, /* the same, tokens 2^31 elements apart: index arithmetic in 64 bits */
    PROP_PLACE_FAR_HEADS = 4, /* the same, heads 2^31 elements apart */
    PROP_PLACES = 5,
} prop_place;

const char *prop_place_name(prop_place place); /* "start"; NULL for an unknown value */

/* A tensor in a packed order of rows, [tokens][heads][head_dim]. */
typedef struct prop_shape {
    int64_t tokens, heads, head_dim;
    int64_t
        token_gap;    /* START, END: elements between the last head of a token and the next token */
    int64_t head_gap; /* START, END: elements between the heads of a token */
    bool heads_first; /* START, END: [heads][tokens][head_dim], the gaps as before but swapped */
    prop_place place;
    int64_t shift; /* START, END: elements away from the unreadable page: other alignments */
} prop_shape;

/* Strides in elements of a shape that START and END place; returns how many elements lie from the
 * first to the end of the last row. */
int64_t prop_shape_strides(const prop_shape *s, int64_t *token_stride, int64_t *head_stride);

/* Whether this process can reserve the address space of the FAR places (valgrind's cannot, nor one
 * under a limit). Where not, cases are arranged otherwise and verify names the skip. */
bool prop_arena_far_fits(void);

typedef struct prop_arena prop_arena;

/* name for reports of crashes ("x"), watched in that slot. read_only: the view that is handed out
 * cannot be written through. */
prop_arena *prop_arena_new(const char *name, int slot, bool read_only);
void prop_arena_free(prop_arena *a);

/* Lays the tensor out and poisons what is readable around and in its rows, with a signalling NaN of
 * the dtype. False when memory is out. */
bool prop_arena_place(prop_arena *a, rope_dtype dtype, const prop_shape *shape, rope_view *view,
                      rope_error *error);

/* Copies packed rows in, or out. */
void prop_arena_load(prop_arena *a, const void *packed);
void prop_arena_store(const prop_arena *a, void *packed);

/* Whether no element of the rows has been written since they were poisoned. */
bool prop_arena_poisoned(const prop_arena *a);

/* Whether the rows still hold these, bit for bit. */
bool prop_arena_holds(const prop_arena *a, const void *packed);

/* Whether all outside the rows is still poison; else *offset is the element that is not, counted
 * from the first element of the first row. Overwrites the rows. */
bool prop_arena_clean(prop_arena *a, int64_t *offset);

/* Copies bytes to the end of a page, an unreadable one after it: for what a kernel only reads
 * (positions, plan arguments). The copy lives until the next call with that slot.
 * prop_guarded_spoil overwrites such a copy, if there is one, with NaN patterns: what a kernel may
 * not look at again. */
enum { PROP_COPIES = 11 };
void prop_guarded_spoil(int slot);
const void *prop_guarded_copy(int slot, const char *name, const void *data, size_t bytes,
                              rope_error *error);

#endif

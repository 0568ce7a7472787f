/* A dump: what a rotary embedding was given and what it returned, as two tensors in files, with the
 * positions of the tokens. Read block by block in bounded memory, whatever the layout on disk. */
#ifndef PROPS_DUMP_H
#define PROPS_DUMP_H

#include "impl/rope.h"
#include "impl/spec/npy.h"
#include "impl/spec/positions.h"

/* What the dimensions of both tensors mean. */
typedef enum prop_layout {
    PROP_LAYOUT_DEFAULT = 0, /* by the number of dimensions: 2 td, 3 thd, 4 bhtd */
    PROP_LAYOUT_TD = 1,      /* [tokens, d] */
    PROP_LAYOUT_THD = 2,     /* [tokens, heads, d] */
    PROP_LAYOUT_HTD = 3,     /* [heads, tokens, d] */
    PROP_LAYOUT_BHTD = 4,    /* [batch, heads, tokens, d] */
    PROP_LAYOUT_BTHD = 5,    /* [batch, tokens, heads, d] */
} prop_layout;

/* "thd", "tokens,heads,d", "[tokens, heads, d]" and so on; false with the list of what there is. */
bool prop_layout_parse(const char *text, prop_layout *layout, rope_error *error);

/* One tensor of a dump. A row is one head of one token; rows are numbered token by token, tokens
 * batch by batch. */
typedef struct prop_tensor {
    npy_array array;
    uint32_t dtype;       /* rope_dtype of the elements */
    int64_t batch_stride; /* strides in elements of the file */
    int64_t token_stride; /* within a batch */
    int64_t head_stride, element_stride;
    void *raw; /* read buffer */
    int64_t raw_elements;
} prop_tensor;

typedef struct prop_dump {
    prop_tensor x, y;
    int64_t batches, tokens; /* tokens of all batches together */
    int64_t heads, head_dim;
    rope_positions positions; /* owned; tokens = 0 where none were given */
    bool positions_per_batch; /* every batch has the same positions */
} prop_dump;

/* Opens both tensors (PATH.npy or PATH.safetensors[:TENSOR]), compares their shapes, and takes the
 * positions (prop_positions text; NULL = none known). False with one line on any mismatch. */
bool prop_dump_open(const char *input, const char *output, const char *positions,
                    prop_layout layout, prop_dump *dump, rope_error *error);
void prop_dump_close(prop_dump *dump);

/* Position of a token on an axis; axis 0 for every axis of a one-axis list. */
int64_t prop_dump_position(const prop_dump *dump, int64_t token, uint32_t axis);

/* Reads tokens [first, first + count) of both tensors as f64 (exact): x and y are
 * [count][heads][head_dim]. Any of the two may be NULL; two threads
 * may read at once, one x and the other y. */
bool prop_dump_read(prop_dump *dump, int64_t first, int64_t count, double *x, double *y,
                    rope_error *error);

#endif

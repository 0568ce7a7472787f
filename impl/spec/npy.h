/* .npy arrays (NumPy's format 1.0, 2.0 and 3.0): header checked against the file's size, data
 * streamed. */
#ifndef ROPE_NPY_H
#define ROPE_NPY_H

#include <stdint.h>
#include <stdio.h>

#include "impl/error.h"

enum { NPY_MAX_DIMENSIONS = 8 };

typedef enum npy_type {
    NPY_F32 = 0,
    NPY_F64 = 1,
    NPY_F16 = 2,
    NPY_BF16 = 3, /* ml_dtypes' void of 2 bytes (V2, or 'bfloat16') */
    NPY_U16 = 4,  /* read as bf16 where a floating-point tensor is wanted */
    NPY_I32 = 5,
    NPY_I64 = 6,
    NPY_U8 = 7,
} npy_type;

typedef struct npy_array {
    FILE *file;
    char path[256]; /* for messages */
    npy_type type;
    size_t element_bytes;
    bool fortran_order;
    int dimensions;
    int64_t shape[NPY_MAX_DIMENSIONS];
    int64_t count;       /* product of shape; checked against the file's size */
    int64_t data_offset; /* bytes */
} npy_array;

/* Opens and checks: magic, version, header dictionary, little-endian numeric type, and that the
 * file holds exactly the elements that its shape says. False with one line. */
bool npy_open(const char *path, npy_array *array, rope_error *error);

/* Reads count elements from element index first (in file order) into data, raw bytes. */
bool npy_read(const npy_array *array, int64_t first, int64_t count, void *data, rope_error *error);

/* Reads all as f64 (from f32, f64, i32, i64); *values is malloc'ed, count in array.count. For small
 * lists. */
bool npy_read_f64(const npy_array *array, double **values, rope_error *error);

void npy_close(npy_array *array);

/* Writes a C-order array through a temporary file and rename: whole or not at all. */
bool npy_write(const char *path, npy_type type, int dimensions, const int64_t *shape,
               const void *data, rope_error *error);

#endif

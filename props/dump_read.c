/* Reading a dump's elements, whatever their type and the order of the dimensions in the file. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "props/dump.h"

/* Exponent and fraction of an f16 in the place of an f32's are 2^-112 times the number, subnormal
 * or not. */
static double from_f16(uint16_t half)
{
    uint32_t bits = (uint32_t)(half & 0x7fff) << 13;
    float small;
    memcpy(&small, &bits, 4);
    double magnitude = (double)small * 0x1p112;
    if ((half & 0x7c00) == 0x7c00)
        magnitude = (half & 0x3ff) ? NAN : INFINITY;
    return half & 0x8000 ? -magnitude : magnitude;
}

/* Widens count elements, `from` apart in data, to elements `to` apart in out. */
static void widen(uint32_t dtype, const void *data, int64_t from, int64_t count, double *out,
                  int64_t to)
{
    switch (dtype) {
    case ROPE_F32:
        for (int64_t i = 0; i < count; i++) {
            float value;
            memcpy(&value, (const char *)data + 4 * i * from, 4);
            out[i * to] = (double)value;
        }
        break;
    case ROPE_F64:
        for (int64_t i = 0; i < count; i++)
            memcpy(&out[i * to], (const char *)data + 8 * i * from, 8);
        break;
    case ROPE_BF16:
        for (int64_t i = 0; i < count; i++) {
            uint16_t half;
            memcpy(&half, (const char *)data + 2 * i * from, 2);
            uint32_t bits = (uint32_t)half << 16;
            float value;
            memcpy(&value, &bits, 4);
            out[i * to] = (double)value;
        }
        break;
    default:
        for (int64_t i = 0; i < count; i++) {
            uint16_t half;
            memcpy(&half, (const char *)data + 2 * i * from, 2);
            out[i * to] = from_f16(half);
        }
    }
}

static bool fetch(prop_tensor *tensor, int64_t first, int64_t count, rope_error *error)
{
    size_t bytes = tensor->array.element_bytes;
    if (count > tensor->raw_elements) {
        free(tensor->raw);
        tensor->raw = malloc((size_t)count * bytes);
        tensor->raw_elements = tensor->raw != NULL ? count : 0;
        if (tensor->raw == NULL)
            return rope_fail(error, "out of memory for a block of %s", tensor->array.path);
    }
    size_t done = 0, wanted = (size_t)count * bytes;
    off_t offset = (off_t)(tensor->array.data_offset + first * (int64_t)bytes);
    while (done < wanted) {
        ssize_t got = pread(fileno(tensor->array.file), (char *)tensor->raw + done, wanted - done,
                            offset + (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return rope_fail(error, "cannot read %s: %s", tensor->array.path,
                             got == 0 ? "it became shorter" : strerror(errno));
        done += (size_t)got;
    }
    return true;
}

typedef struct {
    int64_t extent, from, to; /* from: stride in the file; to: stride in the block */
} dimension;

/* A run along one dimension, read in pieces that span at most SPAN elements of the file: its stride
 * there is 1 but in a Fortran array of several batches. */
static bool read_run(prop_tensor *t, const dimension *run, int64_t start, double *out,
                     rope_error *error)
{
    enum { SPAN = 1 << 20 };
    int64_t from = run->extent > 1 ? run->from : 1, most = SPAN / from + 1;
    for (int64_t i = 0; i < run->extent; i += most) {
        int64_t count = run->extent - i < most ? run->extent - i : most;
        if (!fetch(t, start + i * from, (count - 1) * from + 1, error))
            return false;
        widen(t->dtype, t->raw, from, count, out + i * run->to, run->to);
    }
    return true;
}

/* Tokens of one batch, from element `start` of the file on. The dimension of the smallest stride is
 * read in runs, the two others are walked; [tokens, heads, d] is one run, [heads, tokens, d] one
 * for each head. */
static bool read_batch(prop_tensor *t, int64_t heads, int64_t d, int64_t start, int64_t count,
                       double *out, rope_error *error)
{
    dimension all[3] = {
        {d, t->element_stride, 1}, {count, t->token_stride, heads * d}, {heads, t->head_stride, d}};
    dimension run = all[0], outer[3] = {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}};
    int outers = 0;
    for (int i = 1; i < 3; i++) { /* a dimension of extent 1 may carry any stride */
        if (all[i].extent > 1 && (run.extent == 1 || all[i].from < run.from)) {
            outer[outers++] = run;
            run = all[i];
        } else {
            outer[outers++] = all[i];
        }
    }
    if (t->element_stride == 1 && (heads == 1 || t->head_stride == d) &&
        (count == 1 || t->token_stride == heads * d))
        return read_run(t, &(dimension){count * heads * d, 1, 1}, start, out, error);
    for (int64_t i = 0; i < outer[0].extent; i++)
        for (int64_t j = 0; j < outer[1].extent; j++)
            if (!read_run(t, &run, start + i * outer[0].from + j * outer[1].from,
                          out + i * outer[0].to + j * outer[1].to, error))
                return false;
    return true;
}

static bool read_tensor(const prop_dump *dump, prop_tensor *t, int64_t first, int64_t count,
                        double *out, rope_error *error)
{
    int64_t in_batch = dump->tokens / dump->batches;
    while (count > 0) {
        int64_t batch = first / in_batch, token = first % in_batch;
        int64_t here = count < in_batch - token ? count : in_batch - token;
        if (!read_batch(t, dump->heads, dump->head_dim,
                        batch * t->batch_stride + token * t->token_stride, here, out, error))
            return false;
        out += here * dump->heads * dump->head_dim;
        first += here;
        count -= here;
    }
    return true;
}

bool prop_dump_read(prop_dump *dump, int64_t first, int64_t count, double *x, double *y,
                    rope_error *error)
{
    return (x == NULL || read_tensor(dump, &dump->x, first, count, x, error)) &&
           (y == NULL || read_tensor(dump, &dump->y, first, count, y, error));
}

/* Buffers for timing: touched before the clock starts, staggered, filled with tame but signed data
 * of many magnitudes. */
#ifndef BENCH_BUFFERS_H
#define BENCH_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#include "impl/error.h"

typedef struct bench_buffers {
    void *x, *y; /* aligned to 64 bytes; distance as below */
    size_t bytes;
    void *arena;
    size_t arena_bytes;
} bench_buffers;

/* Bytes from x to y for tensors of `bytes`: at least bytes; half a page off a multiple of 4096
 * (a load must not look like the store before it: "4 KiB aliasing"); and at least 8 MiB away from
 * every multiple of 2^27 (there, AMD Zen's way predictor makes a copy run at a third of its speed).
 */
size_t bench_stagger(size_t bytes);

/* False when memory is out. All pages are written once: a first touch costs microseconds. */
bool bench_buffers_new(size_t bytes, bench_buffers *buffers, rope_error *error);
void bench_buffers_free(bench_buffers *buffers);

/* Fills `count` elements of a dtype with signed values, magnitudes spread evenly over the binades
 * of [2^-8, 2^8): nothing that a rotation makes of them under- or overflows. */
void bench_fill(uint32_t dtype, void *data, size_t count, uint64_t seed);

#endif

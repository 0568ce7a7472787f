/* The physical limits that a rotation is compared with: moving the same bytes. */
#ifndef BENCH_FLOORS_H
#define BENCH_FLOORS_H

#include <stddef.h>
#include <stdint.h>

/* Negates `bytes` bytes in place, as f64 where dtype is ROPE_F64 and as f32 otherwise: one load,
 * one multiplication, one store an element, in vectors of 32 bytes where the CPU has AVX2 (else
 * 16). Multiplying by -1 is exact, so that data keep their magnitudes however often it runs. The
 * data that bench_fill makes are normal numbers under either reading. */
void bench_scale_in_place(uint32_t dtype, void *data, size_t bytes);

/* memcpy(to, from, bytes), out of the optimiser's sight. */
void bench_copy(void *to, const void *from, size_t bytes);

#endif

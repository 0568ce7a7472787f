#include "bench/buffers.h"

#include <string.h>
#include <sys/mman.h>

#include "impl/registry.h"

size_t bench_stagger(size_t bytes)
{
    const size_t page = 4096, period = (size_t)1 << 27, gap = (size_t)8 << 20;
    size_t distance = (bytes + page - 1) / page * page + page / 2;
    size_t offset = distance % period;
    if (distance >= period / 2 && (offset < gap || offset > period - gap))
        distance += 2 * gap;
    return distance;
}

bool bench_buffers_new(size_t bytes, bench_buffers *buffers, rope_error *error)
{
    size_t distance = bench_stagger(bytes);
    *buffers = (bench_buffers){.bytes = bytes, .arena_bytes = distance + bytes};
    buffers->arena = mmap(NULL, buffers->arena_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffers->arena == MAP_FAILED) {
        *buffers = (bench_buffers){0};
        return rope_fail(error, "no memory for two tensors of %zu bytes", bytes);
    }
    memset(buffers->arena, 1, buffers->arena_bytes);
    buffers->x = buffers->arena;
    buffers->y = (unsigned char *)buffers->arena + distance;
    return true;
}

void bench_buffers_free(bench_buffers *buffers)
{
    if (buffers->arena != NULL)
        munmap(buffers->arena, buffers->arena_bytes);
    *buffers = (bench_buffers){0};
}

/* SplitMix64 (Steele, Lea, Flood 2014): every seed gives an independent-looking sequence. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void bench_fill(uint32_t dtype, void *data, size_t count, uint64_t seed)
{
    static const struct {
        unsigned bits, fraction_bits, bias;
    } layouts[] = {[ROPE_F32] = {32, 23, 127},
                   [ROPE_F16] = {16, 10, 15},
                   [ROPE_BF16] = {16, 7, 127},
                   [ROPE_F64] = {64, 52, 1023}};
    size_t bytes = rope_dtype_bytes(dtype);
    unsigned fraction_bits = layouts[dtype].fraction_bits;
    for (size_t i = 0; i < count; i++) {
        uint64_t random = next(&seed);
        uint64_t exponent = layouts[dtype].bias - 8 + (random & 15);
        uint64_t sign = random >> 4 & 1;
        uint64_t fraction = next(&seed) >> (64 - fraction_bits);
        uint64_t pattern = sign << (layouts[dtype].bits - 1) | exponent << fraction_bits | fraction;
        /* The host is little-endian, as every machine that Tightrope runs on. */
        memcpy((unsigned char *)data + i * bytes, &pattern, bytes);
    }
}

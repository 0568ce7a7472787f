/* Runs every kernel that an aarch64 CPU takes, over shapes with all tails, and writes what went in
 * and what came out, for the judge on the host. Rows end, and then start, at unreadable pages.
 * Frequencies come from long double, which has 113 bits on aarch64.
 *
 *   dump FILE */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "impl/registry.h"
#include "scripts/aarch64/record.h"

enum { TOKENS = 7, HEADS = 3, PAGE = 65536 };

static const int64_t positions[TOKENS] = {
    0, 1, -4097, 131071, 16777215, 65520, (INT64_C(1) << 52) + 3};

static void die(const char *what)
{
    fprintf(stderr, "dump: %s\n", what);
    exit(1);
}

static void *guarded(size_t bytes, int at_end)
{
    size_t inner = (bytes + PAGE - 1) / PAGE * PAGE;
    char *map = mmap(NULL, inner + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map + PAGE, inner, PROT_READ | PROT_WRITE) != 0)
        die("cannot map memory");
    return map + PAGE + (at_end ? inner - bytes : 0);
}

/* Signed normal numbers of many magnitudes, by bits. */
static void fill(uint32_t dtype, void *data, size_t count)
{
    static uint64_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t r = (uint32_t)(state >> 32), wide = (r & 0x807fffffu) | (115 + (r >> 23) % 24)
                                                                             << 23;
        if (dtype == ROPE_F32)
            memcpy((char *)data + 4 * i, &wide, 4);
        else if (dtype == ROPE_BF16)
            ((uint16_t *)data)[i] = (uint16_t)(wide >> 16);
        else
            ((uint16_t *)data)[i] = (uint16_t)((r & 0x83ffu) | (10 + (r >> 16) % 8) << 10);
    }
}

static void one(FILE *out, const rope_kernel *kernel, uint32_t pairing, uint32_t dtype,
                const int64_t shape[3], int at_end)
{
    record head = {RECORD_MAGIC, pairing,  dtype,    (uint32_t)rope_dtype_bytes(dtype),
                   {0},          shape[0], shape[1], shape[2],
                   TOKENS,       HEADS,    10000};
    snprintf(head.kernel, sizeof head.kernel, "%s", kernel->name);
    int64_t pairs = shape[1] / 2;
    double hi[1024], lo[1024];
    uint8_t axis[1024] = {0};
    for (int64_t i = 0; i < pairs; i++) {
        long double theta = powl(10000.0L, -2.0L * (long double)i / (long double)shape[1]);
        hi[i] = (double)theta;
        lo[i] = (double)(theta - hi[i]);
    }
    rope_spec spec = {.size = sizeof spec,
                      .pairing = pairing,
                      .head_dim = shape[0],
                      .rotary_dim = shape[1],
                      .rotary_offset = shape[2],
                      .base = 10000};
    size_t count = (size_t)(TOKENS * HEADS * shape[0]), bytes = count * head.element_bytes;
    void *x = guarded(bytes, at_end), *y = guarded(bytes, at_end), *z = guarded(bytes, at_end);
    fill(dtype, x, count);
    memset(y, 0xa5, bytes);
    memcpy(z, x, bytes);
    for (int64_t t = 0; t < TOKENS; t++) { /* a plan a token: tables stay small */
        rope_plan_args args = {.size = sizeof args,
                               .spec = &spec,
                               .dtype = dtype,
                               .axis_count = 1,
                               .first = {positions[t]},
                               .last = {positions[t]},
                               .pairs = pairs,
                               .frequency_hi = hi,
                               .frequency_lo = lo,
                               .axis = axis,
                               .attention_factor = 1};
        size_t at = (size_t)(t * HEADS * shape[0]) * head.element_bytes;
        rope_view vx = {(char *)x + at, 1, HEADS, 0, shape[0]}, vy = vx, vz = vx;
        vy.data = (char *)y + at;
        vz.data = (char *)z + at;
        rope_plan *plan;
        if (kernel->plan(&args, &plan) != ROPE_OK ||
            kernel->apply(plan, &vx, &vy, &positions[t], 1) != ROPE_OK ||
            kernel->apply(plan, &vz, &vz, &positions[t], 1) != ROPE_OK)
            die(kernel->name);
        kernel->destroy(plan);
    }
    fwrite(&head, sizeof head, 1, out);
    fwrite(positions, sizeof positions, 1, out);
    fwrite(x, bytes, 1, out);
    fwrite(y, bytes, 1, out);
    fwrite(z, bytes, 1, out);
    for (int64_t t = 0; t < TOKENS; t++)
        for (int64_t i = 0; i < pairs; i++) {
            rope_plan_args args = {.size = sizeof args,
                                   .spec = &spec,
                                   .dtype = dtype,
                                   .axis_count = 1,
                                   .pairs = pairs,
                                   .frequency_hi = hi,
                                   .frequency_lo = lo,
                                   .axis = axis,
                                   .attention_factor = 1};
            double bound = kernel->error_bound(&args, positions[t], i);
            fwrite(&bound, sizeof bound, 1, out);
        }
}

int main(int argc, char **argv)
{
    static const int64_t shapes[][3] = {
        {2, 2, 0},     {6, 6, 0},     {10, 10, 0},   {16, 16, 0}, {20, 20, 0},  {24, 24, 0},
        {30, 30, 0},   {32, 32, 0},   {40, 40, 0},   {64, 64, 0}, {80, 80, 0},  {96, 96, 0},
        {126, 126, 0}, {128, 128, 0}, {256, 256, 0}, {80, 32, 0}, {65, 34, 31}, {1100, 1100, 0}};
    if (argc != 2)
        die("usage: dump FILE");
    FILE *out = fopen(argv[1], "wb");
    if (out == NULL)
        die("cannot write the file");
    size_t count;
    const rope_header *const *all = rope_registry(&count);
    for (size_t k = 0; k < count; k++) {
        const rope_kernel *kernel = (const rope_kernel *)all[k];
        if (all[k]->kind != ROPE_ROTATION || (kernel->cpu_features & ~rope_cpu_features()) != 0)
            continue;
        for (uint32_t pairing = 0; pairing < 2; pairing++)
            for (uint32_t dtype = 0; dtype < 3; dtype++)
                for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
                    if ((kernel->pairings & 1u << pairing) && (kernel->dtypes & 1u << dtype))
                        one(out, kernel, pairing, dtype, shapes[s], s & 1);
    }
    return fclose(out) == 0 ? 0 : (die("cannot write the file"), 1);
}

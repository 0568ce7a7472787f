#include "impl/registry.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define ROPE_REGISTER_ROTATION(name) extern const rope_kernel rope_##name;
#define ROPE_REGISTER_TABLE_ADD(name) extern const rope_table_kernel rope_##name;
#define ROPE_REGISTER_SCORE_BIAS(name) extern const rope_bias_kernel rope_##name;
#include "impl/registry.def"
#undef ROPE_REGISTER_ROTATION
#undef ROPE_REGISTER_TABLE_ADD
#undef ROPE_REGISTER_SCORE_BIAS

static const rope_header *const kernels[] = {
#define ROPE_REGISTER_ROTATION(name) &rope_##name.header,
#define ROPE_REGISTER_TABLE_ADD(name) &rope_##name.header,
#define ROPE_REGISTER_SCORE_BIAS(name) &rope_##name.header,
#include "impl/registry.def"
#undef ROPE_REGISTER_ROTATION
#undef ROPE_REGISTER_TABLE_ADD
#undef ROPE_REGISTER_SCORE_BIAS
};

const rope_header *const *rope_registry(size_t *count)
{
    *count = sizeof kernels / sizeof kernels[0];
    return kernels;
}

const char *rope_header_name(const rope_header *header)
{
    switch (header->kind) {
    case ROPE_ROTATION:
        return ((const rope_kernel *)header)->name;
    case ROPE_TABLE_ADD:
        return ((const rope_table_kernel *)header)->name;
    default:
        return ((const rope_bias_kernel *)header)->name;
    }
}

const rope_header *rope_registry_find_any(const char *name)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(rope_header_name(kernels[i]), name) == 0)
            return kernels[i];
    return NULL;
}

const rope_kernel *rope_registry_find(const char *name)
{
    const rope_header *header = rope_registry_find_any(name);
    return header != NULL && header->kind == ROPE_ROTATION ? (const rope_kernel *)header : NULL;
}

#if defined(__x86_64__)
/* The state components that the operating system saves: bits 1, 2 SSE and AVX; 5, 6, 7 AVX-512. */
static uint64_t saved_state(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((uint64_t)high << 32) | low;
}

uint32_t rope_cpu_features(void)
{
    unsigned a, b, c, d;
    uint32_t features = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || (saved_state() & 0x6) != 0x6)
        return 0;
    if (c & bit_FMA)
        features |= ROPE_CPU_FMA;
    if (c & bit_F16C)
        features |= ROPE_CPU_F16C;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return features;
    if (b & bit_AVX2)
        features |= ROPE_CPU_AVX2;
    const unsigned avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    if ((b & avx512) == avx512 && (saved_state() & 0xe0) == 0xe0)
        features |= ROPE_CPU_AVX512;
    return features;
}
#elif defined(__aarch64__)
uint32_t rope_cpu_features(void)
{
    return ROPE_CPU_NEON; /* part of the base architecture */
}
#else
uint32_t rope_cpu_features(void)
{
    return 0;
}
#endif

void rope_cpu_features_text(uint32_t features, char *text, size_t size)
{
    static const char *const names[] = {"avx2", "fma", "f16c", "avx512", "neon"};
    size_t used = 0;
    snprintf(text, size, "none");
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if ((features & 1u << i) && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "+" : "", names[i]);
}

static const char *const pairing_names[] = {"interleaved", "half"};
static const struct {
    const char *name;
    size_t bytes;
    double unit_roundoff, smallest;
} dtypes[] = {
    [ROPE_F32] = {"f32", 4, 0x1p-24, 0x1p-149},
    [ROPE_F16] = {"f16", 2, 0x1p-11, 0x1p-24},
    [ROPE_BF16] = {"bf16", 2, 0x1p-8, 0x1p-133},
    [ROPE_F64] = {"f64", 8, 0x1p-53, 0x1p-1074},
};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

const char *rope_pairing_name(uint32_t pairing)
{
    return pairing < 2 ? pairing_names[pairing] : NULL;
}

const char *rope_dtype_name(uint32_t dtype)
{
    return dtype < DTYPES ? dtypes[dtype].name : NULL;
}

int rope_dtype_from_name(const char *name)
{
    for (int i = 0; i < DTYPES; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return i;
    return -1;
}

size_t rope_dtype_bytes(uint32_t dtype)
{
    return dtypes[dtype].bytes;
}

double rope_dtype_unit_roundoff(uint32_t dtype)
{
    return dtypes[dtype].unit_roundoff;
}

double rope_dtype_smallest(uint32_t dtype)
{
    return dtypes[dtype].smallest;
}

static bool check_name(const char *name, const char *summary, rope_error *error)
{
    const char *letters = "abcdefghijklmnopqrstuvwxyz0123456789_";
    if (name == NULL || *name == '\0' || strspn(name, letters) != strlen(name) || strlen(name) > 63)
        return rope_fail(error, "kernel has no name of 1 to 63 characters a-z, 0-9 and _");
    if (summary == NULL)
        return rope_fail(error, "kernel %s has no summary", name);
    return true;
}

static bool check_dtypes(const char *name, uint32_t dtypes_taken, rope_error *error)
{
    if (dtypes_taken == 0 || dtypes_taken >= 1u << DTYPES)
        return rope_fail(error, "kernel %s has dtypes %#x, expected bits 0 to 3", name,
                         dtypes_taken);
    return true;
}

static bool check_functions(const char *name, bool present, rope_error *error)
{
    return present ||
           rope_fail(error, "kernel %s lacks one of plan, apply, destroy, plan_bytes, error_bound",
                     name);
}

static bool check_rotation(const rope_kernel *k, rope_error *error)
{
    if (!check_name(k->name, k->summary, error) || !check_dtypes(k->name, k->dtypes, error))
        return false;
    if (k->pairings == 0 || k->pairings >= 1u << 2)
        return rope_fail(error, "kernel %s has pairings %#x, expected bits 0 and 1", k->name,
                         k->pairings);
    return check_functions(
        k->name, k->plan && k->apply && k->destroy && k->plan_bytes && k->error_bound, error);
}

static bool check_table(const rope_table_kernel *k, rope_error *error)
{
    return check_name(k->name, k->summary, error) && check_dtypes(k->name, k->dtypes, error) &&
           check_functions(k->name,
                           k->plan && k->apply && k->destroy && k->plan_bytes && k->error_bound,
                           error);
}

static bool check_bias(const rope_bias_kernel *k, rope_error *error)
{
    return check_name(k->name, k->summary, error) && check_dtypes(k->name, k->dtypes, error) &&
           check_functions(k->name,
                           k->plan && k->apply && k->destroy && k->plan_bytes && k->error_bound,
                           error);
}

bool rope_kernel_check(const rope_header *header, rope_error *error)
{
    static const size_t sizes[] = {sizeof(rope_kernel), sizeof(rope_table_kernel),
                                   sizeof(rope_bias_kernel)};
    if (header == NULL)
        return rope_fail(error, "descriptor is NULL, expected one that begins with a rope_header");
    if (header->abi != ROPE_ABI)
        return rope_fail(error, "descriptor has abi %u, expected %u", header->abi,
                         (unsigned)ROPE_ABI);
    if (header->kind > ROPE_SCORE_BIAS)
        return rope_fail(error, "descriptor has unknown kind %u, expected 0 to %u", header->kind,
                         (unsigned)ROPE_SCORE_BIAS);
    if (header->size < sizes[header->kind])
        return rope_fail(error, "descriptor has %u bytes, expected at least %zu", header->size,
                         sizes[header->kind]);
    if (header->flags & ~(uint32_t)ROPE_IN_PLACE)
        return rope_fail(error, "descriptor has unknown flags %#x", header->flags);
    switch (header->kind) {
    case ROPE_ROTATION:
        return check_rotation((const rope_kernel *)header, error);
    case ROPE_TABLE_ADD:
        return check_table((const rope_table_kernel *)header, error);
    default:
        return check_bias((const rope_bias_kernel *)header, error);
    }
}

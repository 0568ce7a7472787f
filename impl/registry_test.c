/* The registry: every descriptor is well formed, found by its name, and there once. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "impl/registry.h"

/* The registry's lines as text: the name of a descriptor must be the name of its symbol. */
static const char *const symbols[] = {
#define ROPE_REGISTER_ROTATION(name) #name,
#define ROPE_REGISTER_TABLE_ADD(name) #name,
#define ROPE_REGISTER_SCORE_BIAS(name) #name,
#include "impl/registry.def"
#undef ROPE_REGISTER_ROTATION
#undef ROPE_REGISTER_TABLE_ADD
#undef ROPE_REGISTER_SCORE_BIAS
};

static const char *name_of(const rope_header *header)
{
    switch (header->kind) {
    case ROPE_TABLE_ADD:
        return ((const rope_table_kernel *)header)->name;
    case ROPE_SCORE_BIAS:
        return ((const rope_bias_kernel *)header)->name;
    default:
        return ((const rope_kernel *)header)->name;
    }
}

static void descriptors_are_well_formed(void **state)
{
    (void)state;
    size_t count;
    const rope_header *const *all = rope_registry(&count);
    assert_int_equal(count, sizeof symbols / sizeof symbols[0]);
    assert_true(count >= 6);
    for (size_t i = 0; i < count; i++) {
        rope_error error = {{0}};
        if (!rope_kernel_check(all[i], &error))
            fail_msg("%s: %s", symbols[i], error.text);
        assert_string_equal(name_of(all[i]), symbols[i]);
        if (all[i]->kind == ROPE_ROTATION)
            assert_ptr_equal(rope_registry_find(symbols[i]), all[i]);
        else
            assert_null(rope_registry_find(symbols[i])); /* rotations only */
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(symbols[i], symbols[k]);
    }
}

static void unknown_names_are_not_found(void **state)
{
    (void)state;
    assert_null(rope_registry_find(""));
    assert_null(rope_registry_find("lookups"));
    assert_null(rope_registry_find("LOOKUP"));
}

static void check_refuses(rope_kernel kernel, const char *reason)
{
    rope_error error = {{0}};
    assert_false(rope_kernel_check(&kernel.header, &error));
    if (strstr(error.text, reason) == NULL)
        fail_msg("refused for '%s', expected '%s'", error.text, reason);
}

static void malformed_descriptors_are_refused(void **state)
{
    (void)state;
    const rope_kernel *good = rope_registry_find("lookup");
    assert_false(rope_kernel_check(NULL, NULL));
    rope_kernel k = *good;
    k.header.abi = 2;
    check_refuses(k, "abi");
    k = *good, k.header.size = sizeof k - 1;
    check_refuses(k, "bytes");
    k = *good, k.header.kind = 9;
    check_refuses(k, "kind");
    k = *good, k.header.flags = 1u << 31;
    check_refuses(k, "flags");
    k = *good, k.name = "Lookup";
    check_refuses(k, "name");
    k = *good, k.name = "0123456789012345678901234567890123456789012345678901234567890123";
    check_refuses(k, "name");
    k = *good, k.summary = NULL;
    check_refuses(k, "summary");
    k = *good, k.pairings = 4;
    check_refuses(k, "pairings");
    k = *good, k.dtypes = 0;
    check_refuses(k, "dtypes");
    k = *good, k.error_bound = NULL;
    check_refuses(k, "error_bound");
}

static void names_and_values_agree(void **state)
{
    (void)state;
    for (uint32_t d = 0; d < 4; d++)
        assert_int_equal(rope_dtype_from_name(rope_dtype_name(d)), d);
    assert_int_equal(rope_dtype_from_name("f8"), -1);
    assert_null(rope_dtype_name(4));
    assert_string_equal(rope_pairing_name(ROPE_INTERLEAVED), "interleaved");
    assert_string_equal(rope_pairing_name(ROPE_HALF), "half");
    assert_null(rope_pairing_name(2));
    char text[64];
    rope_cpu_features_text(ROPE_CPU_AVX2 | ROPE_CPU_FMA, text, sizeof text);
    assert_string_equal(text, "avx2+fma");
    rope_cpu_features_text(0, text, sizeof text);
    assert_string_equal(text, "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_are_well_formed),
        cmocka_unit_test(unknown_names_are_not_found),
        cmocka_unit_test(malformed_descriptors_are_refused),
        cmocka_unit_test(names_and_values_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

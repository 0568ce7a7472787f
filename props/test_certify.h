/* What the tests of certificates share; included once by each, after cmocka.h. */
#ifndef PROPS_TEST_CERTIFY_H
#define PROPS_TEST_CERTIFY_H

#include "props/certify.h"

static rope_spec spec_of(const char *text)
{
    rope_spec spec;
    rope_error error;
    if (!rope_spec_parse(text, &spec, &error))
        fail_msg("%s", error.text);
    return spec;
}

static inline certify_options options_of(int64_t first, int64_t end)
{
    return (certify_options){.seed = 7,
                             .first = first,
                             .end = end,
                             .shard = 1,
                             .shards = 1,
                             .jobs = 1,
                             .search = 1 << 13};
}

static inline certificate certify_dtype(const rope_kernel *kernel, const rope_spec *spec,
                                        uint32_t dtype, const certify_options *options)
{
    certify_subject subject = {kernel, NULL, spec, dtype};
    certify_result result;
    rope_error error;
    if (!certify_run(&subject, 1, options, &result, &error))
        fail_msg("%s", error.text);
    if (result.reason[0] != '\0')
        fail_msg("%s", result.reason);
    return result.certificate;
}

static inline certificate certify_one(const rope_kernel *kernel, const rope_spec *spec,
                                      const certify_options *options)
{
    return certify_dtype(kernel, spec, ROPE_F32, options);
}

#endif

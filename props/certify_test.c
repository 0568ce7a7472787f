/* Certification: that a wrong kernel, an edited certificate or a wrong set of shards is noticed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "impl/registry.h"
#include "oracle/measure.h"
#include "props/certify_exact.h"
#include "props/certify_measure.h"
#include "props/certify_probe.h"
#include "props/test_certify.h"

/* ---- wrong kernels ---- */

static int64_t wrong_position;

/* lookup, but for one element at one position: the sign of y1's last pair. */
static rope_status apply_wrong(const rope_plan *plan, const rope_view *x, const rope_view *y,
                               const int64_t *positions, int64_t stride)
{
    const rope_kernel *lookup = rope_registry_find("lookup");
    rope_status status = lookup->apply(plan, x, y, positions, stride);
    for (int64_t t = 0; status == ROPE_OK && t < x->tokens; t++)
        if (positions[t * stride] == wrong_position) {
            float *row = (float *)y->data + t * y->token_stride;
            row[1] = nextafterf(nextafterf(nextafterf(row[1], 2), 2), 2);
        }
    return status;
}

static void finds_one_wrong_position_in_a_million(void **test)
{
    (void)test;
    rope_kernel wrong = *rope_registry_find("lookup");
    wrong.apply = apply_wrong;
    wrong_position = 777777;
    rope_spec spec = spec_of("head_dim=2,base=10000,pairing=half");
    certify_options options = options_of(0, 1 << 20);
    certificate c = certify_one(&wrong, &spec, &options);
    const certificate_stage *angle = &c.stage[CERTIFICATE_ANGLE];
    const certificate_stage *rotation = &c.stage[CERTIFICATE_ROTATION];
    assert_true(angle->total.pairs == 2u << 20);
    assert_true(angle->total.misrounded + (rotation->total.max_error_u > 2.95) >= 1);
    bool listed = false;
    for (int i = 0; i < angle->misrounded_count; i++)
        listed = listed || angle->misrounded[i].position == wrong_position;
    for (int i = 0; i < rotation->worst_count; i++)
        listed = listed || rotation->worst[i].position == wrong_position;
    assert_true(listed);
    certificate_free(&c);

    /* The same without the fault: nothing is listed, so that the check above could fail. */
    c = certify_one(rope_registry_find("lookup"), &spec, &options);
    assert_true(c.stage[CERTIFICATE_ANGLE].total.misrounded == 0);
    assert_string_equal(certificate_verdict(&c), "kept");
    certificate_free(&c);
    rope_spec_free(&spec);
}

static rope_status apply_nothing(const rope_plan *plan, const rope_view *x, const rope_view *y,
                                 const int64_t *positions, int64_t stride)
{
    (void)plan, (void)x, (void)y, (void)positions, (void)stride;
    return ROPE_OK;
}

static void a_kernel_that_writes_nothing_breaks_its_contract(void **test)
{
    (void)test;
    rope_kernel idle = *rope_registry_find("lookup");
    idle.apply = apply_nothing;
    rope_spec spec = spec_of("head_dim=8,base=10000,pairing=half");
    certify_options options = options_of(0, 4096);
    certificate c = certify_one(&idle, &spec, &options);
    assert_string_equal(certificate_verdict(&c), "broken");
    assert_true(isinf(c.stage[CERTIFICATE_ANGLE].total.max_error_u));
    rope_error error;
    assert_true(certificate_consistent(&c, &error));
    certificate_free(&c);
    rope_spec_free(&spec);
}

static rope_status apply_crash(const rope_plan *plan, const rope_view *x, const rope_view *y,
                               const int64_t *positions, int64_t stride)
{
    const rope_kernel *lookup = rope_registry_find("lookup");
    if (positions[0] > 1000)
        abort();
    return lookup->apply(plan, x, y, positions, stride);
}

static void a_crash_spoils_one_kernel_only(void **test)
{
    (void)test;
    rope_kernel crash = *rope_registry_find("lookup");
    crash.apply = apply_crash;
    rope_spec spec = spec_of("head_dim=8,base=10000,pairing=half");
    certify_subject subjects[] = {{&crash, NULL, &spec, ROPE_F32},
                                  {rope_registry_find("lookup"), NULL, &spec, ROPE_F32}};
    certify_options options = options_of(0, 4096);
    certify_result results[2];
    rope_error error;
    assert_true(certify_run(subjects, 2, &options, results, &error));
    assert_non_null(strstr(results[0].reason, "SIGABRT"));
    assert_string_equal(results[1].reason, "");
    assert_string_equal(certificate_verdict(&results[1].certificate), "kept");
    certificate_free(&results[1].certificate);
    rope_spec_free(&spec);
}

/* ---- certificates ---- */

static void shards_and_jobs_change_nothing(void **test)
{
    (void)test;
    rope_spec spec = spec_of("head_dim=8,base=10000,pairing=interleaved");
    const rope_kernel *kernel = rope_registry_find("recurrence");
    certify_options options = options_of(-5000, 33333);
    certificate whole = certify_one(kernel, &spec, &options), sum = {0};
    char *expected = certificate_to_json(&whole);
    for (uint64_t shard = 1; shard <= 5; shard++) {
        options.shard = shard;
        options.shards = 5;
        options.jobs = (int)shard;
        certificate part = certify_one(kernel, &spec, &options);
        rope_error error;
        char *text = certificate_to_json(&part);
        certificate read;
        assert_int_equal(certificate_parse(text, strlen(text), &read, &error), CERTIFICATE_READ);
        if (shard == 1)
            sum = read;
        else {
            if (!certificate_append(&sum, &read, &error))
                fail_msg("%s", error.text);
            /* The same again overlaps; the one after next leaves a gap. */
            assert_false(certificate_append(&sum, &read, &error));
            certificate_free(&read);
        }
        free(text);
        certificate_free(&part);
    }
    sum.shard = sum.shards = 1;
    char *merged = certificate_to_json(&sum);
    assert_string_equal(merged, expected);
    free(merged);
    free(expected);
    certificate_free(&sum);
    certificate_free(&whole);
    rope_spec_free(&spec);
}

static void refuses_other_subjects(void **test)
{
    (void)test;
    rope_spec spec = spec_of("head_dim=8,base=10000,pairing=half");
    certify_options options = options_of(0, 2048);
    options.shards = 2;
    certificate first = certify_one(rope_registry_find("lookup"), &spec, &options);
    options.shard = 2;
    certificate second = certify_one(rope_registry_find("lookup"), &spec, &options);
    rope_error error;
    for (int change = 0; change < 5; change++) {
        certificate other = second;
        char spec_text[] = "head_dim=8,base=20000,pairing=half";
        switch (change) {
        case 0:
            strcpy(other.kernel, "scalar");
            break;
        case 1:
            other.binary_hash[0] ^= 1;
            break;
        case 2:
            other.spec = spec_text;
            break;
        case 3:
            other.shard_first += 64;
            break;
        case 4:
            other.end += 1;
            break;
        }
        assert_false(certificate_append(&first, &other, &error));
    }
    assert_true(certificate_append(&first, &second, &error));
    certificate_free(&first);
    certificate_free(&second);
    rope_spec_free(&spec);
}

/* Every number of a certificate, edited in turn: the reader or the re-verification notices. */
static void notices_every_edited_number(void **test)
{
    (void)test;
    rope_spec spec = spec_of("head_dim=4,base=10000,pairing=half");
    certify_options options = options_of(0, 600);
    certificate c = certify_one(rope_registry_find("lookup"), &spec, &options);
    char *text = certificate_to_json(&c);
    char *content = strstr(text, "\"content\""), *end = strstr(text, "\"content_hash\"");
    int edits = 0;
    for (char *p = content; p < end; p++) {
        /* The 17th digit may not change the number. */
        if (*p < '0' || *p > '9' || p[1] == ',' || p[1] == 'e' || p[1] == '\n')
            continue;
        char kept = *p;
        rope_error error;
        certificate read;
        *p = kept == '9' ? '8' : (char)(kept + 1);
        certificate_reading reading = certificate_parse(text, strlen(text), &read, &error);
        if (reading == CERTIFICATE_READ)
            fail_msg("unnoticed: %c became %c in %.60s", kept, *p, p - 12);
        certificate_free(&read);
        *p = kept;
        edits++;
    }
    assert_true(edits > 500);
    free(text);
    certificate_free(&c);
    rope_spec_free(&spec);
}

static void a_fifo_is_no_certificate(void **test)
{
    (void)test;
    char folder[] = "/tmp/certify_test.XXXXXX", fifo[64], hash[65];
    assert_non_null(mkdtemp(folder));
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    certificate c;
    rope_error error = {""};
    alarm(60); /* a reader that waits for the fifo's writer is ended */
    assert_int_equal(certificate_read(fifo, &c, &error), CERTIFICATE_MALFORMED);
    assert_non_null(strstr(error.text, "fifo"));
    assert_false(certificate_hash_file(fifo, hash, &error));
    alarm(0);
    certificate_free(&c);
    unlink(fifo);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_one_wrong_position_in_a_million),
        cmocka_unit_test(a_kernel_that_writes_nothing_breaks_its_contract),
        cmocka_unit_test(a_crash_spoils_one_kernel_only),
        cmocka_unit_test(shards_and_jobs_change_nothing),
        cmocka_unit_test(refuses_other_subjects),
        cmocka_unit_test(notices_every_edited_number),
        cmocka_unit_test(a_fifo_is_no_certificate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

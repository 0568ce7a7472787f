/* `tightrope certify --recheck CERT.json`. */
#include <inttypes.h>
#include <unistd.h>

#include "props/recheck.h"
#include "scripts/front/front.h"

int recheck_file(const char *path, bool other_binary, const char *seed, const char *jobs)
{
    rope_error error;
    certificate c = {0};
    int64_t job_count = sysconf(_SC_NPROCESSORS_ONLN);
    recheck_options options = {
        .other_binary = other_binary, .seed = 1, .positions = 64, .segments = 4};
    if ((seed != NULL && !front_uint64(seed, "--seed", &options.seed, &error)) ||
        (jobs != NULL && !front_int64(jobs, "--jobs", 1, 256, &job_count, &error)) ||
        !oracle_self_test(&error))
        return front_usage("certify", "%s", error.text);
    options.jobs = (int)job_count;
    certificate_reading reading = certificate_read(path, &c, &error);
    if (reading == CERTIFICATE_MALFORMED) {
        certificate_free(&c);
        return front_usage("certify", "%s", error.text);
    }
    recheck_work work;
    recheck_verdict verdict = RECHECK_FAILS;
    if (reading == CERTIFICATE_READ && certificate_consistent(&c, &error))
        verdict = recheck_certificate(&c, NULL, &options, &work, &error);
    int status = FRONT_HOLDS;
    if (verdict == RECHECK_HOLDS)
        printf("PASS %s: %s %s %" PRId64 ":%" PRId64 ", %s; %" PRId64 " pairs at %" PRId64
               " positions by MPFR, %" PRId64 " of %" PRId64 " segments again\n",
               path, c.kernel, c.dtype, c.shard_first, c.shard_end, certificate_verdict(&c),
               work.pairs, work.positions, work.segments, c.segment_count);
    else if (verdict == RECHECK_FAILS) {
        printf("FAIL %s: %s\n", path, error.text);
        status = FRONT_FAILS;
    } else
        status = front_usage("certify", "%s: %s", path, error.text);
    certificate_free(&c);
    return status;
}

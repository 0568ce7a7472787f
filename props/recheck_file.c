/* `tightrope certify --recheck CERT.json`. */
#include <inttypes.h>
#include <unistd.h>

#include "props/recheck.h"
#include "props/verify_plugins.h"
#include "scripts/front/front.h"

/* The kernel that a certificate names, from the plug-ins given if it is a plug-in's; NULL with a
 * line, or for one of the registry. */
static const rope_kernel *find(const certificate *c, const prop_plugins *plugins, const char **path,
                               rope_error *error)
{
    const rope_plugin *from = NULL;
    if (*c->plugin == '\0')
        return NULL;
    const rope_header *header = rope_plugins_find(plugins->items, plugins->count, c->kernel, &from);
    if (header == NULL || header->kind != ROPE_ROTATION) {
        rope_fail(error, "kernel '%s' is of plug-in %.100s, expected --plugin with that file",
                  c->kernel, c->plugin);
        return NULL;
    }
    *path = from->path;
    return (const rope_kernel *)header;
}

int recheck_file(const char *path, const front_values *paths, bool other_binary, const char *seed,
                 const char *jobs)
{
    prop_plugins plugins;
    const char *plugin = NULL;
    rope_error error;
    certificate c = {0};
    int64_t job_count = sysconf(_SC_NPROCESSORS_ONLN);
    recheck_options options = {
        .other_binary = other_binary, .seed = 1, .positions = 64, .segments = 4};
    if ((seed != NULL && !front_uint64(seed, "--seed", &options.seed, &error)) ||
        (jobs != NULL && !front_int64(jobs, "--jobs", 1, 256, &job_count, &error)) ||
        !oracle_self_test(&error) || !prop_plugins_load(paths, &plugins, &error))
        return front_usage("certify", "%s", error.text);
    options.jobs = (int)job_count;
    certificate_reading reading = certificate_read(path, &c, &error);
    if (reading == CERTIFICATE_MALFORMED) {
        certificate_free(&c);
        prop_plugins_free(&plugins);
        return front_usage("certify", "%s", error.text);
    }
    recheck_work work;
    recheck_verdict verdict = RECHECK_FAILS;
    if (reading == CERTIFICATE_READ && certificate_consistent(&c, &error)) {
        const rope_kernel *kernel = find(&c, &plugins, &plugin, &error);
        verdict = *c.plugin != '\0' && kernel == NULL
                      ? RECHECK_UNUSABLE
                      : recheck_certificate(&c, kernel, plugin, &options, &work, &error);
    }
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
    prop_plugins_free(&plugins);
    return status;
}

#include "props/certify_out.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include "impl/registry.h"
#include "scripts/front/front.h"
#include "scripts/front/rows.h"

bool certify_out_to_stdout(const char *csv)
{
    return csv != NULL && (*csv == '\0' || strcmp(csv, "-") == 0);
}

bool certify_out_writable(const char *path, rope_error *error)
{
    char temporary[4200];
    FILE *file = rows_file_create(path, temporary, sizeof temporary, error);
    if (file == NULL)
        return false;
    fclose(file);
    rows_remove_temporaries();
    return true;
}

bool certify_out_begin(certify_out *out, const char *path, const char *csv, bool single,
                       uint64_t seed, int argc, char **argv, rope_error *error)
{
    struct stat about;
    out->path = path;
    out->csv = csv;
    out->single = single;
    out->argc = argc;
    out->argv = argv;
    if (path != NULL) {
        bool exists = stat(path, &about) == 0;
        bool slash = *path != '\0' && path[strlen(path) - 1] == '/';
        out->folder = !single || slash || (exists && S_ISDIR(about.st_mode));
        if (*path == '\0')
            return rope_fail(error, "--out is empty, expected a file or a folder");
        if (out->folder && !exists && mkdir(path, 0777) != 0)
            return rope_fail(error, "cannot make the folder %s: %s", path, strerror(errno));
        if (out->folder && exists && !S_ISDIR(about.st_mode))
            return rope_fail(
                error, "--out %s is no folder, and this run makes several certificates", path);
    }
    out->quiet = certify_out_to_stdout(csv);
    if ((path != NULL && !out->folder && !certify_out_writable(path, error)) ||
        (csv != NULL && !out->quiet && !certify_out_writable(csv, error)))
        return false;
    out->begun = front_run_begin(&out->run, argc, argv, seed, error);
    return out->begun;
}

void certify_out_skip(certify_out *out, const char *spec, const rope_error *reason)
{
    out->skips++;
    if (!out->quiet)
        printf("skip  %s: %s\n", spec, reason->text);
}

static int verdict_index(const certificate *c)
{
    static const char *const verdicts[] = {"kept", "partial", "none", "broken"};
    for (int i = 0; i < 3; i++)
        if (strcmp(certificate_verdict(c), verdicts[i]) == 0)
            return i;
    return 3;
}

void certify_summary_line(const certificate *c, char *text, size_t size)
{
    const certificate_tally *angle = &c->stage[CERTIFICATE_ANGLE].total;
    const certificate_tally *rotation = &c->stage[CERTIFICATE_ROTATION].total;
    static const char *const verdicts[] = {"contract kept", "contract kept where there is one",
                                           "no contract", "CONTRACT BROKEN"};
    int used = snprintf(
        text, size,
        "%s %s %" PRId64 ":%" PRId64 ": %s; cos/sin max %.5g u, rms %.4g u, %.7g %% correctly "
        "rounded; rotation max %.5g u",
        c->kernel, c->dtype, c->shard_first, c->shard_end, verdicts[verdict_index(c)],
        angle->max_error_u, certificate_rms(&angle->squares_u, angle->pairs),
        100 * (double)angle->correctly_rounded / (2 * (double)angle->pairs), rotation->max_error_u);
    if (used > 0 && (size_t)used < size && c->search.evaluations > 0)
        used += snprintf(text + used, size - (size_t)used, ", searched %.5g u",
                         c->search.worst.error_u);
    if (used > 0 && (size_t)used < size && !isnan(c->bounds.high))
        snprintf(text + used, size - (size_t)used, "; contract %.5g u", c->bounds.high);
}

/* KERNEL.DTYPE.SPEC.json, the spec's own text made safe for a file name. */
static bool file_path(certify_out *out, const certificate *c, const char *spec, char *path,
                      size_t size, rope_error *error)
{
    char label[100], name[300];
    size_t n = 0;
    for (const char *p = spec; *p != '\0' && n < sizeof label - 1; p++)
        label[n++] = isalnum((unsigned char)*p) || strchr("._-=", *p) != NULL ? *p : '_';
    label[n] = '\0';
    char part[64] = "";
    if (c->shards > 1)
        snprintf(part, sizeof part, ".%" PRIu64 "-of-%" PRIu64, c->shard, c->shards);
    snprintf(name, sizeof name, "%s.%s.%s%s.json", c->kernel, c->dtype, label, part);
    for (int i = 0; i < out->name_count; i++)
        if (strcmp(out->names[i], name) == 0)
            snprintf(name, sizeof name, "%s.%s.%s%s.%d.json", c->kernel, c->dtype, label, part,
                     out->name_count);
    char **names = realloc(out->names, (size_t)(out->name_count + 1) * sizeof *names);
    if (names == NULL)
        return rope_fail(error, "out of memory");
    out->names = names;
    if ((out->names[out->name_count] = strdup(name)) == NULL)
        return rope_fail(error, "out of memory");
    out->name_count++;
    return (size_t)snprintf(path, size, "%s/%s", out->path, name) < size ||
           rope_fail(error, "cannot write %s/%s: its name is too long", out->path, name);
}

/* Who made a certificate: when, on what machine, by which command. */
static char *provenance_json(const certify_out *out)
{
    cJSON *root = cJSON_CreateObject();
    time_t now = time(NULL);
    struct tm utc;
    struct utsname machine;
    char text[64];
    if (gmtime_r(&now, &utc) != NULL && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
        cJSON_AddStringToObject(root, "time", text);
    if (uname(&machine) == 0)
        cJSON_AddStringToObject(root, "machine", machine.machine);
    cJSON *command = cJSON_AddArrayToObject(root, "command");
    for (int i = 0; i < out->argc; i++)
        cJSON_AddItemToArray(command, cJSON_CreateString(out->argv[i]));
    char *json = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    return json;
}

static bool write_certificate(certify_out *out, certificate *c, const char *spec, rope_error *error)
{
    char path[4096], temporary[4200];
    c->provenance = provenance_json(out);
    char *text = certificate_to_json(c);
    if (text == NULL)
        return rope_fail(error, "out of memory");
    bool good = true;
    if (out->path == NULL) {
        if (out->single && !out->quiet)
            good = puts(text) >= 0 || rope_fail(error, "cannot write to standard output");
    } else {
        if (out->folder)
            good = file_path(out, c, spec, path, sizeof path, error);
        else
            good = (size_t)snprintf(path, sizeof path, "%s", out->path) < sizeof path ||
                   rope_fail(error, "cannot write %s: its name is too long", out->path);
        FILE *file = good ? rows_file_create(path, temporary, sizeof temporary, error) : NULL;
        if (file != NULL)
            fprintf(file, "%s\n", text);
        good = file != NULL && rows_file_commit(file, temporary, path, error);
    }
    free(text);
    return good;
}

static bool keep(certify_out *out, certify_result *result, rope_error *error)
{
    size_t count = (size_t)out->kept_count + 1;
    certificate *kept = realloc(out->kept, count * sizeof *kept);
    if (kept == NULL)
        return rope_fail(error, "out of memory");
    out->kept = kept;
    kept[out->kept_count++] = result->certificate;
    /* The rows need no segments, and 2^10 of them each would add up. */
    free(kept[count - 1].segments);
    kept[count - 1].segments = NULL;
    kept[count - 1].segment_count = 0;
    result->certificate = (certificate){0};
    return true;
}

bool certify_out_result(certify_out *out, const char *name, const char *spec,
                        const certify_subject *subject, certify_result *result, rope_error *error)
{
    bool talk = out->path != NULL || !out->single;
    if (result->reason[0] != '\0') {
        out->broken = true;
        out->failures++;
        fprintf(talk && !out->quiet ? stdout : stderr, "FAIL  %s %s, %s: %s\n",
                subject->kernel->name, rope_dtype_name(subject->dtype), spec, result->reason);
        return true;
    }
    certificate *c = &result->certificate;
    int verdict = verdict_index(c);
    out->kept_verdicts[verdict]++;
    out->broken = out->broken || verdict == 3;
    if (!write_certificate(out, c, name, error))
        return false;
    if (talk && !out->quiet) {
        char line[600];
        certify_summary_line(c, line, sizeof line);
        printf("%s  %s, %s\n", verdict == 3 ? "FAIL" : verdict == 2 ? "none" : "ok  ", line, spec);
        fflush(stdout);
    }
    return keep(out, result, error);
}

bool certify_out_finish(certify_out *out, rope_error *error)
{
    if (out->csv != NULL) {
        if (!front_run_finish(&out->run, error) || !certify_rows_write(out, error))
            return false;
        if (*out->csv != '\0' && strcmp(out->csv, "-") != 0) {
            bool good = front_run_write_beside(&out->run, out->csv, error);
            if (!good)
                return false;
        }
    }
    const int *v = out->kept_verdicts;
    if (!out->single && !out->quiet)
        printf("%d kept, %d kept where there is a contract, %d without contract, %d broken, %d "
               "failed, %d skipped\n",
               v[0], v[1], v[2], v[3], out->failures, out->skips);
    return true;
}

void certify_out_free(certify_out *out)
{
    for (int i = 0; i < out->name_count; i++)
        free(out->names[i]);
    free(out->names);
    for (int i = 0; i < out->kept_count; i++)
        certificate_free(&out->kept[i]);
    free(out->kept);
    if (out->begun)
        front_run_free(&out->run);
}

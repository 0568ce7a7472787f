/* `tightrope merge`: certificates of all shards of a range, as one, to standard output. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "props/certificate.h"
#include "scripts/front/front.h"
#include "scripts/front/verbs.h"

static int by_place(const void *a, const void *b)
{
    const certificate *x = a, *y = b;
    return (x->shard_first > y->shard_first) - (x->shard_first < y->shard_first);
}

/* Who made each part: {"merged": [{"file":..., "shard":..., "provenance": {...}}]}. */
static char *join_provenance(const certificate *parts, int count)
{
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "merged");
    for (int i = 0; i < count; i++) {
        cJSON *part = cJSON_CreateObject();
        char shard[48];
        snprintf(shard, sizeof shard, "%" PRIu64 "/%" PRIu64, parts[i].shard, parts[i].shards);
        cJSON_AddStringToObject(part, "shard", shard);
        cJSON *made = parts[i].provenance != NULL ? cJSON_Parse(parts[i].provenance) : NULL;
        cJSON_AddItemToObject(part, "provenance", made != NULL ? made : cJSON_CreateObject());
        cJSON_AddItemToArray(list, part);
    }
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    return text;
}

/* Sums the parts, in order of their positions, into an empty copy of the first. */
static bool merge(certificate *parts, int count, certificate *sum, rope_error *error)
{
    qsort(parts, (size_t)count, sizeof *parts, by_place);
    *sum = parts[0];
    sum->spec = strdup(parts[0].spec);
    sum->provenance = join_provenance(parts, count);
    sum->segments = NULL;
    sum->segment_count = 0;
    sum->shard = sum->shards = 1;
    sum->shard_first = sum->shard_end = sum->first;
    memset(sum->stage, 0, sizeof sum->stage);
    if (sum->spec == NULL || sum->provenance == NULL)
        return rope_fail(error, "out of memory");
    for (int i = 0; i < count; i++)
        if (!certificate_append(sum, &parts[i], error))
            return false;
    if (sum->shard_end != sum->end)
        return rope_fail(error, "positions %" PRId64 ":%" PRId64 " are missing", sum->shard_end,
                         sum->end);
    return certificate_consistent(sum, error);
}

static bool read_parts(const front_values *files, certificate *parts, rope_error *error)
{
    for (int i = 0; i < files->count; i++) {
        rope_error reason;
        if (certificate_read(files->items[i], &parts[i], error) != CERTIFICATE_READ)
            return false;
        if (!certificate_consistent(&parts[i], &reason))
            return rope_fail(error, "%.200s: %.300s", files->items[i], reason.text);
    }
    return true;
}

int verb_merge(int argc, char **argv)
{
    front_values files = {0};
    const front_option options[] = {{0}};
    int status = front_parse(
        argc, argv, "merge CERT.json...",
        "Joins the certificates of all shards of one range into one, on standard output.\n"
        "Exit 1: the contract is broken; 2: the files are not the shards of one range.",
        options, &files);
    if (status != -1)
        return status;
    if (files.count == 0)
        return front_usage("merge", "no certificate given, expected those of all shards");
    rope_error error;
    certificate sum = {0};
    certificate *parts = calloc((size_t)files.count, sizeof *parts);
    bool good = parts != NULL || rope_fail(&error, "out of memory");
    good = good && read_parts(&files, parts, &error) && merge(parts, files.count, &sum, &error);
    if (good) {
        char *text = certificate_to_json(&sum);
        good = text != NULL && puts(text) >= 0;
        if (!good)
            rope_fail(&error, "cannot write to standard output");
        free(text);
    }
    status = !good ? front_usage("merge", "%s", error.text)
             : strcmp(certificate_verdict(&sum), "broken") == 0 ? FRONT_FAILS
                                                                : FRONT_HOLDS;
    for (int i = 0; parts != NULL && i < files.count; i++)
        certificate_free(&parts[i]);
    free(parts);
    certificate_free(&sum);
    return status;
}

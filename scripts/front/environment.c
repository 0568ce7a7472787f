#include "scripts/front/environment.h"

#include <cjson/cJSON.h>
#include <gmp.h>
#include <gnu/libc-version.h>
#include <libgen.h>
#include <mpfi.h>
#include <mpfr.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "build_info.h"
#include "impl/file.h"
#include "impl/rope.h"
#include "scripts/front/machine.h"
#include "scripts/front/rows.h"

/* Of the record's layout: keys are added within a version, never renamed. */
static const char schema_version[] = "1";

typedef struct {
    cJSON *root;
    struct timespec started;
} run_state;

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

void front_version(char *text, size_t size)
{
    snprintf(text, size, "tightrope " BUILD_VERSION ", commit %.12s%s, ABI %d", BUILD_COMMIT,
             BUILD_DIRTY ? " with changes" : "", ROPE_ABI);
}

void front_sha256(const char *text, size_t length, char hex[65])
{
    SHA256Data((const uint8_t *)text, length, hex);
}

/* Writes a word as a shell would need it, in ASCII: bare when all its characters are safe, else in
 * '...', or in $'...' (bash) when it holds bytes that are no printable ASCII. */
static void print_quoted(FILE *out, const char *word)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "_-+=.,:/@%";
    if (*word != '\0' && word[strspn(word, safe)] == '\0') {
        fputs(word, out);
        return;
    }
    bool odd = false;
    for (const char *c = word; *c != '\0'; c++)
        odd |= (unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f;
    fputs(odd ? "$'" : "'", out);
    for (const char *c = word; *c != '\0'; c++)
        if (odd && ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f))
            fprintf(out, "\\x%02x", (unsigned char)*c);
        else if (odd && (*c == '\'' || *c == '\\'))
            fprintf(out, "\\%c", *c);
        else if (*c == '\'')
            fputs("'\\''", out);
        else
            fputc(*c, out);
    fputc('\'', out);
}

static void add_command(cJSON *root, int argc, char **argv)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return;
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";
    if (strcmp(name, "tightrope") != 0)
        fputs("tightrope", out);
    for (int i = 0; i < argc; i++) {
        if (ftell(out) > 0)
            fputc(' ', out);
        print_quoted(out, argv[i]);
    }
    if (fclose(out) == 0)
        cJSON_AddStringToObject(root, "command_line", text);
    free(text);
}

static void add_build(cJSON *root)
{
    cJSON *build = cJSON_AddObjectToObject(root, "build");
    cJSON_AddStringToObject(build, "commit", BUILD_COMMIT);
    cJSON_AddBoolToObject(build, "dirty", BUILD_DIRTY);
    cJSON_AddStringToObject(build, "compiler", BUILD_COMPILER);
    cJSON_AddStringToObject(build, "flags", BUILD_CFLAGS);
    cJSON_AddStringToObject(build, "kernel_flags", BUILD_KERNEL_CFLAGS);
}

static void add_libraries(cJSON *root)
{
    cJSON *libraries = cJSON_AddObjectToObject(root, "libraries");
    cJSON_AddStringToObject(libraries, "mpfr", mpfr_get_version());
    cJSON_AddStringToObject(libraries, "mpfi", mpfi_get_version());
    cJSON_AddStringToObject(libraries, "gmp", gmp_version);
    cJSON_AddStringToObject(libraries, "cjson", cJSON_Version());
    cJSON_AddStringToObject(libraries, "csv", BUILD_LIBCSV);
    cJSON_AddStringToObject(libraries, "benchmark", BUILD_BENCHMARK);
    cJSON_AddStringToObject(libraries, "rapidcheck", BUILD_RAPIDCHECK);
    cJSON_AddStringToObject(libraries, "glibc", gnu_get_libc_version());
}

bool front_run_begin(front_run *run, int argc, char **argv, uint64_t seed, rope_error *error)
{
    *run = (front_run){0};
    run_state *state = calloc(1, sizeof *state);
    machine_fact *facts = calloc(MACHINE_FACTS, sizeof *facts);
    if (state != NULL)
        state->root = cJSON_CreateObject();
    if (state == NULL || facts == NULL || state->root == NULL) {
        free(facts);
        free(state);
        return rope_fail(error, "out of memory");
    }
    clock_gettime(CLOCK_MONOTONIC, &state->started);
    cJSON *root = state->root;
    cJSON_AddStringToObject(root, "schema_version", schema_version);
    add_command(root, argc, argv);
    char text[64];
    snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
    cJSON_AddStringToObject(root, "seed", text);
    time_t now = time(NULL);
    struct tm utc;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    cJSON_AddStringToObject(root, "time_utc", text);
    add_build(root);
    add_libraries(root);
    cJSON *machine = cJSON_AddObjectToObject(root, "machine");
    int count = machine_facts(facts);
    for (int i = 0; i < count; i++)
        cJSON_AddStringToObject(machine, facts[i].name, facts[i].value);
    free(facts);
    machine_load(text, sizeof text);
    cJSON_AddStringToObject(root, "load_before", text);
    cJSON_AddObjectToObject(root, "notes");
    run->state = state;
    return true;
}

void front_run_note(front_run *run, const char *key, const char *value)
{
    run_state *state = run->state;
    cJSON *notes = cJSON_GetObjectItemCaseSensitive(state->root, "notes");
    cJSON_DeleteItemFromObjectCaseSensitive(notes, key);
    cJSON_AddStringToObject(notes, key, value);
}

bool front_run_finish(front_run *run, rope_error *error)
{
    run_state *state = run->state;
    char text[64], hex[65];
    machine_load(text, sizeof text);
    cJSON_AddStringToObject(state->root, "load_after", text);
    snprintf(text, sizeof text, "%.3f", seconds_since(&state->started));
    cJSON_AddStringToObject(state->root, "duration_s", text);
    char *printed = cJSON_Print(state->root);
    size_t length = printed != NULL ? strlen(printed) : 0;
    run->json = malloc(length + 2);
    if (printed == NULL || run->json == NULL) {
        free(printed);
        return rope_fail(error, "out of memory");
    }
    memcpy(run->json, printed, length);
    memcpy(run->json + length, "\n", 2);
    cJSON_free(printed);
    front_sha256(run->json, length + 1, hex);
    memcpy(run->id, hex, 16);
    run->id[16] = '\0';
    return true;
}

bool front_run_write(const front_run *run, const char *directory, rope_error *error)
{
    char path[4096], temporary[4200];
    if ((size_t)snprintf(path, sizeof path, "%s/%s.json", directory, run->id) >= sizeof path)
        return rope_fail(error, "cannot write in %.100s...: its name is too long", directory);
    FILE *file = rows_file_create(path, temporary, sizeof temporary, error);
    if (file == NULL)
        return false;
    fputs(run->json, file);
    return rows_file_commit(file, temporary, path, error);
}

bool front_run_write_beside(const front_run *run, const char *csv, rope_error *error)
{
    struct stat status;
    if (*csv == '\0' || strcmp(csv, "-") == 0 ||
        (stat(csv, &status) == 0 && !S_ISREG(status.st_mode)))
        return true;
    char *copy = strdup(csv);
    bool good = copy != NULL ? front_run_write(run, dirname(copy), error)
                             : rope_fail(error, "out of memory");
    free(copy);
    return good;
}

void front_run_free(front_run *run)
{
    run_state *state = run->state;
    if (state != NULL)
        cJSON_Delete(state->root);
    free(state);
    free(run->json);
    *run = (front_run){0};
}

/* Of the longest record that is one: a list of CPU flags and a command line. NULL: no such file. */
static char *read_record(const char *csv, const char *run, size_t *size)
{
    enum { LARGEST = 1 << 20 };
    char path[4096];
    const char *slash = strrchr(csv, '/');
    int folder = slash != NULL ? (int)(slash - csv) + 1 : 0;
    FILE *file;
    if (strlen(run) != 16 || strchr(run, '/') != NULL ||
        (size_t)snprintf(path, sizeof path, "%.*s%s.json", folder, csv, run) >= sizeof path ||
        !rope_open_regular(path, &file, NULL))
        return NULL;
    char *text = malloc(LARGEST + 1);
    *size = text != NULL ? fread(text, 1, LARGEST, file) : 0;
    fclose(file);
    if (text != NULL)
        text[*size] = '\0';
    return text;
}

/* NULL where there is none. */
static const char *find_fact(const cJSON *root, const char *group, const char *name)
{
    const cJSON *in = group != NULL ? cJSON_GetObjectItemCaseSensitive(root, group) : root;
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(in, name));
}

static const char *fact(const cJSON *root, const char *group, const char *name)
{
    const char *value = find_fact(root, group, name);
    return value != NULL ? value : MACHINE_UNKNOWN;
}

/* NULL where it is not there or not what the run was named for; free with cJSON_Delete. */
static cJSON *parse_record(const char *csv, const char *run)
{
    size_t length;
    char hex[65], *record = read_record(csv, run, &length);
    if (record == NULL)
        return NULL;
    front_sha256(record, length, hex);
    cJSON *root = strncmp(hex, run, 16) == 0 ? cJSON_Parse(record) : NULL;
    free(record);
    return root;
}

bool front_run_summary(const char *csv, const char *run, char *text, size_t size)
{
    cJSON *root = parse_record(csv, run);
    if (root != NULL)
        snprintf(text, size, "commit %.12s%s, %.100s, %.40s", fact(root, "build", "commit"),
                 cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(
                     cJSON_GetObjectItemCaseSensitive(root, "build"), "dirty"))
                     ? " with changes"
                     : "",
                 fact(root, "machine", "cpu_model"), fact(root, NULL, "time_utc"));
    bool good = root != NULL;
    cJSON_Delete(root);
    return good;
}

bool front_run_fact(const char *csv, const char *run, const char *group, const char *name,
                    char *text, size_t size)
{
    cJSON *root = parse_record(csv, run);
    const char *value = find_fact(root, group, name);
    snprintf(text, size, "%s", value != NULL ? value : "");
    cJSON_Delete(root);
    return value != NULL;
}

void front_here_summary(char *text, size_t size)
{
    machine_fact *facts = calloc(MACHINE_FACTS, sizeof *facts);
    int count = facts != NULL ? machine_facts(facts) : 0;
    const char *cpu = MACHINE_UNKNOWN;
    for (int i = 0; i < count; i++)
        if (strcmp(facts[i].name, "cpu_model") == 0)
            cpu = facts[i].value;
    snprintf(text, size, "commit %.12s%s, %.100s", BUILD_COMMIT, BUILD_DIRTY ? " with changes" : "",
             cpu);
    free(facts);
}

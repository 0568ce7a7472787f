#include "bench/process.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "impl/registry.h"
#include "scripts/front/rows.h"

extern char **environ;

bool bench_process_available(void)
{
    const char *path = getenv("PATH");
    char *copy = strdup(path ? path : "/usr/bin:/bin"), *rest = copy, *folder;
    bool found = false;
    while (copy != NULL && !found && (folder = strsep(&rest, ":")) != NULL) {
        char file[4096];
        found = (size_t)snprintf(file, sizeof file, "%s/hyperfine", *folder ? folder : ".") <
                    sizeof file &&
                access(file, X_OK) == 0;
    }
    free(copy);
    return found;
}

/* hyperfine splits a command into words as a shell does. */
static void print_word(FILE *out, const char *word)
{
    fputs(" '", out);
    for (; *word != '\0'; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    fputc('\'', out);
}

/* The command of a cold run; kernel NULL copies. malloc'ed. */
static char *command_text(const bench_point *point, const char *kernel, const char *plugin)
{
    char self[4096], shape[64], *text = NULL;
    size_t size;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    FILE *out = length > 0 ? open_memstream(&text, &size) : NULL;
    if (out == NULL)
        return NULL;
    self[length] = '\0';
    print_word(out, self);
    fputs(" bench --once --spec", out);
    print_word(out, point->problem->text);
    snprintf(shape, sizeof shape, "%lldx%lld", (long long)point->tokens, (long long)point->heads);
    fprintf(out, " --shape %s --dtype %s", shape, rope_dtype_name(point->dtype));
    if (kernel != NULL)
        fprintf(out, " --kernel %s", kernel);
    if (kernel != NULL && plugin != NULL) {
        fputs(" --plugin", out);
        print_word(out, plugin);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* Runs hyperfine, its output thrown away; its exit status, or -1. */
static int run_hyperfine(char **argv)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    if (posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0 &&
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawnp(&child, argv[0], &actions, NULL, argv, environ) == 0) {
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
        status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    posix_spawn_file_actions_destroy(&actions);
    return status;
}

/* The times of result `index` in hyperfine's JSON, in ns per element; how many. */
static int take_times(const cJSON *root, int index, double elements, double *times, int most)
{
    const cJSON *results = cJSON_GetObjectItemCaseSensitive(root, "results");
    const cJSON *list =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(results, index), "times");
    int count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsNumber(item) && count < most)
            times[count++] = item->valuedouble * 1e9 / elements;
    }
    return count;
}

static cJSON *read_json(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t capacity = 0;
    cJSON *root = NULL;
    if (file != NULL && getdelim(&text, &capacity, '\0', file) > 0)
        root = cJSON_Parse(text);
    free(text);
    if (file != NULL)
        fclose(file);
    return root;
}

enum { MOST_RUNS = 1000 };

static void summarise(const cJSON *root, double elements, bench_result *result)
{
    static double times[2][MOST_RUNS];
    int counts[2];
    for (int i = 0; i < 2; i++)
        counts[i] = take_times(root, i, elements, times[i], MOST_RUNS);
    bench_interval copy = bench_median(times[1], counts[1]);
    result->samples = counts[0];
    result->ns = bench_median(times[0], counts[0]);
    result->gigabytes_per_s = 2 * (double)result->bytes / (result->ns.median * elements);
    result->ratio_memcpy = bench_unpaired_ratio(result->ns, copy);
    result->memcpy_ns = copy.median;
    result->floor_spread = bench_spread(times[1], counts[1]);
}

bool bench_process_measure(const bench_point *point, const char *plugin, int runs,
                           const bench_effort *effort, bench_result *result, rope_error *error)
{
    if (!bench_verify(point, effort, result, error) || result->verdict == BENCH_SKIP)
        return result->verdict == BENCH_SKIP;
    /* Made as a temporary of ours, so that an interrupt removes it; hyperfine fills it. */
    char json[512], count[16];
    FILE *file = rows_file_create("/tmp/tightrope-hyperfine", json, sizeof json, error);
    if (file == NULL)
        return false;
    fclose(file);
    snprintf(count, sizeof count, "%d", runs);
    char *kernel = command_text(point, point->kernel->name, plugin),
         *copy = command_text(point, NULL, NULL);
    char *argv[] = {"hyperfine",     "-N", "--style", "none", "--warmup", "1", "--runs", count,
                    "--export-json", json, kernel,    copy,   NULL};
    int status = kernel != NULL && copy != NULL ? run_hyperfine(argv) : -1;
    cJSON *root = status == 0 ? read_json(json) : NULL;
    if (root != NULL)
        summarise(root, (double)(point->tokens * point->heads * point->problem->spec.head_dim),
                  result);
    else
        rope_fail(error, "hyperfine failed (status %d) on%s", status, kernel ? kernel : "");
    bool good = root != NULL;
    cJSON_Delete(root);
    rows_file_abandon(json);
    free(kernel);
    free(copy);
    return good;
}

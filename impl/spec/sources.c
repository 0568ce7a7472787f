#include "impl/spec/sources.h"
#include "impl/file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "impl/spec/config.h"
#include "impl/spec/gguf.h"
#include "impl/spec/presets.h"

enum {
    CONFIG_LIMIT = 16 << 20
}; /* bytes; the largest that models ship have label lists of a few MB */

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

static bool has_suffix(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

static bool unknown(const char *path, rope_error *error)
{
    if (strchr(path, '/') != NULL || has_suffix(path, ".json") || has_suffix(path, ".gguf")) {
        char nearest[200];
        rope_presets_nearest(path, nearest, sizeof nearest);
        return rope_fail(error, "cannot read '%s': no such file or preset (nearest presets: %s)",
                         path, nearest);
    }
    char nearest[200];
    rope_presets_nearest(path, nearest, sizeof nearest);
    return rope_fail(error,
                     "unknown preset '%s', nearest: %s; expected one of `tightrope list presets`, "
                     "a path, or key=value,...",
                     path, nearest);
}

/* The whole file; *text is malloc'ed. */
static bool read_file(const char *path, char **text, size_t *size, rope_error *error)
{
    FILE *file;
    if (!rope_open_regular(path, &file, error))
        return false;
    char *buffer = malloc(CONFIG_LIMIT + 1);
    size_t count = buffer == NULL ? 0 : fread(buffer, 1, CONFIG_LIMIT + 1, file);
    bool bad = ferror(file) != 0;
    int cause = errno;
    fclose(file);
    if (buffer == NULL || bad || count > CONFIG_LIMIT) {
        free(buffer);
        return buffer == NULL ? rope_fail(error, "out of memory for %s", path)
               : bad          ? rope_fail(error, "cannot read %s: %s", path, strerror(cause))
                     : rope_fail(error, "%s has more than %d bytes, expected a config.json", path,
                                 CONFIG_LIMIT);
    }
    *text = buffer;
    *size = count;
    return true;
}

static bool read_config(const char *path, const char *layer, uint32_t overridden, rope_spec *spec,
                        rope_error *error)
{
    char *text = NULL;
    size_t size = 0;
    if (!read_file(path, &text, &size, error))
        return false;
    bool ok = rope_config_parse(path, text, size, layer, overridden, spec, error);
    free(text);
    return ok;
}

/* A folder stands for its config.json. */
static bool read_path(const char *path, const char *layer, uint32_t overridden, rope_spec *spec,
                      rope_error *error)
{
    struct stat status;
    char inside[4096];
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        if (snprintf(inside, sizeof inside, "%s/config.json", path) >= (int)sizeof inside)
            return rope_fail(error, "cannot read %.200s...: its name is too long", path);
        return read_config(inside, layer, overridden, spec, error);
    }
    if (has_suffix(path, ".gguf"))
        return rope_gguf_read(path, layer, overridden, spec, error);
    return read_config(path, layer, overridden, spec, error);
}

bool rope_spec_from_path(const char *path, uint32_t overridden, rope_spec *spec, rope_error *error)
{
    if (is_file(path))
        return read_path(path, NULL, overridden, spec, error);
    const char *colon = strrchr(path, ':');
    char *stem = colon == NULL ? NULL : strndup(path, (size_t)(colon - path));
    bool ok = stem != NULL && is_file(stem) ? read_path(stem, colon + 1, overridden, spec, error)
                                            : unknown(path, error);
    free(stem);
    return ok;
}

/* The same of a file, given as such or by its folder. */
static double length_of_file(const char *path)
{
    struct stat status;
    char inside[4096];
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        if (snprintf(inside, sizeof inside, "%s/config.json", path) >= (int)sizeof inside)
            return NAN;
        path = inside;
    }
    rope_error ignored; /* what is wrong with the file, its reading as a spec says */
    char *text = NULL;
    size_t size = 0;
    if (has_suffix(path, ".gguf") || !read_file(path, &text, &size, &ignored))
        return NAN;
    double length = rope_config_stated_length(text, size);
    free(text);
    return length;
}

double rope_spec_stated_length(const char *text)
{
    char *source = strndup(text, strcspn(text, ","));
    if (source == NULL)
        return NAN;
    const rope_preset *preset = rope_preset_find(source);
    char *colon = strrchr(source, ':');
    double length = NAN;
    if (preset != NULL) {
        length = (double)preset->trained;
    } else if (strchr(source, '=') == NULL || is_file(source)) {
        if (!is_file(source) && colon != NULL)
            *colon = '\0'; /* the layer */
        length = length_of_file(source);
    }
    free(source);
    return length;
}

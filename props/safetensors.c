#include "props/safetensors.h"
#include "impl/file.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Headers of published models stay below 1 MiB; the parsed tree takes up to 64 times its text. */
enum { MAX_HEADER = 4 << 20 };

static const struct {
    const char *name;
    npy_type type;
    size_t bytes;
} types[] = {
    {"F32", NPY_F32, 4}, {"F64", NPY_F64, 8}, {"F16", NPY_F16, 2}, {"BF16", NPY_BF16, 2},
    {"U16", NPY_U16, 2}, {"I32", NPY_I32, 4}, {"I64", NPY_I64, 8}, {"U8", NPY_U8, 1},
};

/* A JSON number that is a whole number in [0, 2^53]; JSON numbers pass through f64. */
static bool whole(const cJSON *item, int64_t *value)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || !(item->valuedouble <= 0x1p53) ||
        item->valuedouble != floor(item->valuedouble))
        return false;
    *value = (int64_t)item->valuedouble;
    return true;
}

static char *read_header(const char *path, FILE *file, int64_t size, int64_t *length,
                         rope_error *error)
{
    unsigned char prefix[8];
    if (size < 8 || fread(prefix, 1, 8, file) != 8) {
        rope_fail(error, "%s: %lld bytes are too few for a .safetensors file", path,
                  (long long)size);
        return NULL;
    }
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--)
        n = n << 8 | prefix[i];
    if (n < 2 || n > (uint64_t)size - 8 || n > MAX_HEADER) {
        rope_fail(error, "%s: header of %llu bytes, expected 2 to %lld, within the file", path,
                  (unsigned long long)n,
                  (long long)(size - 8 < MAX_HEADER ? size - 8 : MAX_HEADER));
        return NULL;
    }
    char *text = malloc((size_t)n + 1);
    if (text == NULL || fread(text, 1, (size_t)n, file) != n) {
        rope_fail(error, text == NULL ? "out of memory for the header of %s" : "%s: cannot be read",
                  path);
        free(text);
        return NULL;
    }
    text[n] = '\0';
    *length = (int64_t)n;
    return text;
}

static const cJSON *find_tensor(const char *path, const cJSON *header, const char *name,
                                rope_error *error)
{
    const cJSON *found = NULL, *item;
    int matches = 0, tensors = 0;
    char names[200] = "";
    size_t used = 0;
    cJSON_ArrayForEach(item, header)
    {
        if (item->string == NULL || strcmp(item->string, "__metadata__") == 0)
            continue;
        tensors++;
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                     item->string);
        if (name == NULL || *name == '\0' || strcmp(item->string, name) == 0) {
            found = item;
            matches++;
        }
    }
    if (matches == 1)
        return found;
    if (tensors == 0)
        rope_fail(error, "%s: holds no tensor", path);
    else if (matches > 1)
        rope_fail(error, "%s: %d tensors where one is expected, name it as FILE:TENSOR (%s%s)",
                  path, matches, names, used < sizeof names ? "" : "...");
    else
        rope_fail(error, "%s: no tensor '%s', it holds %s%s", path, name, names,
                  used < sizeof names ? "" : "...");
    return NULL;
}

static bool take_shape(const char *path, const cJSON *tensor, npy_array *array, rope_error *error)
{
    const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(tensor, "dtype");
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(tensor, "shape");
    size_t t = 0, count = sizeof types / sizeof types[0];
    while (t < count && !(cJSON_IsString(dtype) && strcmp(dtype->valuestring, types[t].name) == 0))
        t++;
    if (t == count)
        return rope_fail(error, "%s: tensor '%s' has dtype '%s', expected F32, F64, F16 or BF16",
                         path, tensor->string,
                         cJSON_IsString(dtype) ? dtype->valuestring : "(none)");
    array->type = types[t].type;
    array->element_bytes = types[t].bytes;
    array->count = 1;
    if (!cJSON_IsArray(shape))
        return rope_fail(error, "%s: tensor '%s' has no shape", path, tensor->string);
    const cJSON *item;
    cJSON_ArrayForEach(item, shape)
    {
        int64_t extent;
        if (array->dimensions == NPY_MAX_DIMENSIONS || !whole(item, &extent) ||
            __builtin_mul_overflow(array->count, extent, &array->count))
            return rope_fail(error,
                             "%s: tensor '%s' has a shape that is not up to %d whole numbers of a "
                             "product below 2^63",
                             path, tensor->string, NPY_MAX_DIMENSIONS);
        array->shape[array->dimensions++] = extent;
    }
    return true;
}

static bool take_tensor(const char *path, const cJSON *tensor, int64_t data, int64_t size,
                        npy_array *array, rope_error *error)
{
    if (!cJSON_IsObject(tensor))
        return rope_fail(error, "%s: tensor '%s' is no object", path, tensor->string);
    if (!take_shape(path, tensor, array, error))
        return false;
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(tensor, "data_offsets");
    int64_t begin, end, bytes;
    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 ||
        !whole(cJSON_GetArrayItem(offsets, 0), &begin) ||
        !whole(cJSON_GetArrayItem(offsets, 1), &end) || begin > end || end > size - data)
        return rope_fail(error,
                         "%s: tensor '%s' has data_offsets outside the file's %lld bytes of data",
                         path, tensor->string, (long long)(size - data));
    if (__builtin_mul_overflow(array->count, (int64_t)array->element_bytes, &bytes) ||
        bytes != end - begin)
        return rope_fail(error,
                         "%s: tensor '%s' has %lld bytes, but its shape needs another number", path,
                         tensor->string, (long long)(end - begin));
    array->data_offset = data + begin;
    return true;
}

bool safetensors_open(const char *path, const char *name, npy_array *array, rope_error *error)
{
    *array = (npy_array){0};
    FILE *file;
    struct stat status;
    if (!rope_open_regular(path, &file, error))
        return false;
    if (fstat(fileno(file), &status) != 0) {
        fclose(file);
        return rope_fail(error, "cannot read %s: %s", path, strerror(errno));
    }
    int64_t length;
    char *text = read_header(path, file, status.st_size, &length, error);
    bool good = text != NULL;
    if (good) {
        const char *rest = NULL;
        cJSON *header = cJSON_ParseWithLengthOpts(text, (size_t)length, &rest, false);
        while (rest != NULL && rest < text + length && *rest == ' ')
            rest++; /* the format pads with spaces */
        if (!cJSON_IsObject(header) || rest != text + length)
            good = rope_fail(error, "%s: its header is no JSON object", path);
        const cJSON *tensor = good ? find_tensor(path, header, name, error) : NULL;
        good =
            tensor != NULL && take_tensor(path, tensor, 8 + length, status.st_size, array, error);
        cJSON_Delete(header);
    }
    free(text);
    if (!good) {
        fclose(file);
        *array = (npy_array){0};
        return false;
    }
    array->file = file;
    snprintf(array->path, sizeof array->path, "%s", path);
    return true;
}

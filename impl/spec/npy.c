/* .npy files. Format: NumPy Enhancement Proposal 1, versions 1.0 to 3.0. */
#include "impl/spec/npy.h"
#include "impl/file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *descr; /* as written, where NumPy itself has the type */
    size_t bytes;
} types[] = {
    [NPY_F32] = {"<f4", 4}, [NPY_F64] = {"<f8", 8}, [NPY_F16] = {"<f2", 2}, [NPY_BF16] = {"<V2", 2},
    [NPY_U16] = {"<u2", 2}, [NPY_I32] = {"<i4", 4}, [NPY_I64] = {"<i8", 8}, [NPY_U8] = {"|u1", 1},
};
enum { TYPES = sizeof types / sizeof types[0], HEADER_LIMIT = 65536 };

/* A reader of the header's dictionary, a Python literal. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t'))
        c->at++;
}

static bool take(cursor *c, char wanted)
{
    skip_blanks(c);
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

/* A quoted string without escapes. */
static bool take_string(cursor *c, char *text, size_t size)
{
    skip_blanks(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return false;
    char quote = *c->at++;
    size_t length = 0;
    while (c->at < c->end && *c->at != quote && *c->at != '\\' && length + 1 < size)
        text[length++] = *c->at++;
    text[length] = '\0';
    return take(c, quote);
}

static bool take_word(cursor *c, const char *word)
{
    size_t length = strlen(word);
    skip_blanks(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
        return false;
    c->at += length;
    return true;
}

static bool take_size(cursor *c, int64_t *value)
{
    skip_blanks(c);
    const char *first = c->at;
    *value = 0;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
        if (*value > (INT64_MAX - 9) / 10)
            return false;
        *value = 10 * *value + (*c->at++ - '0');
    }
    return c->at != first;
}

/* "()", "(3,)", "(3, 4)" */
static bool take_shape(cursor *c, npy_array *array)
{
    array->dimensions = 0;
    if (!take(c, '('))
        return false;
    while (!take(c, ')')) {
        if (array->dimensions == NPY_MAX_DIMENSIONS ||
            !take_size(c, &array->shape[array->dimensions++]))
            return false;
        if (!take(c, ',') && (c->at == c->end || *c->at != ')'))
            return false;
    }
    return true;
}

static bool find_type(const char *descr, npy_type *type)
{
    if (strcmp(descr, "|V2") == 0 || strcmp(descr, "bfloat16") == 0) {
        *type = NPY_BF16;
        return true;
    }
    for (int i = 0; i < TYPES; i++)
        if (strcmp(types[i].descr, descr) == 0) {
            *type = (npy_type)i;
            return true;
        }
    return false;
}

/* {'descr': ..., 'fortran_order': ..., 'shape': ...}, each once, in any order. */
static bool read_dictionary(cursor *c, npy_array *array, rope_error *error)
{
    unsigned seen = 0;
    char key[16], descr[64];
    const char *malformed = "%s: the .npy header is malformed, expected a dictionary of descr, "
                            "fortran_order and shape";
    if (!take(c, '{'))
        return rope_fail(error, malformed, array->path);
    while (!take(c, '}')) {
        if (!take_string(c, key, sizeof key) || !take(c, ':'))
            return rope_fail(error, malformed, array->path);
        unsigned bit;
        bool good;
        if (strcmp(key, "descr") == 0) {
            bit = 1;
            good = take_string(c, descr, sizeof descr);
            if (good && !find_type(descr, &array->type))
                return rope_fail(error,
                                 "%s: element type '%s' is not supported, expected little-endian "
                                 "f2, f4, f8, u1, u2, V2 (bf16), i4 or i8",
                                 array->path, descr);
        } else if (strcmp(key, "fortran_order") == 0) {
            bit = 2;
            array->fortran_order = take_word(c, "True");
            good = array->fortran_order || take_word(c, "False");
        } else {
            bit = 4;
            good = strcmp(key, "shape") == 0 && take_shape(c, array);
        }
        if (!good || (seen & bit))
            return rope_fail(error, malformed, array->path);
        seen |= bit;
        if (!take(c, ',')) {
            if (!take(c, '}'))
                return rope_fail(error, malformed, array->path);
            break;
        }
    }
    skip_blanks(c);
    return (seen == 7 && c->at == c->end) || rope_fail(error, malformed, array->path);
}

static bool check_size(npy_array *array, int64_t file_bytes, rope_error *error)
{
    array->element_bytes = types[array->type].bytes;
    array->count = 1;
    for (int i = 0; i < array->dimensions; i++)
        if (__builtin_mul_overflow(array->count, array->shape[i], &array->count))
            return rope_fail(error, "%s: the shape's product is past 2^63", array->path);
    int64_t bytes, total;
    if (__builtin_mul_overflow(array->count, (int64_t)array->element_bytes, &bytes) ||
        __builtin_add_overflow(bytes, array->data_offset, &total))
        return rope_fail(error, "%s: the shape's bytes are past 2^63", array->path);
    return total == file_bytes ||
           rope_fail(error, "%s has %" PRId64 " bytes, its header expects %" PRId64, array->path,
                     file_bytes, total);
}

static bool read_header(npy_array *array, rope_error *error)
{
    struct stat status;
    if (fstat(fileno(array->file), &status) != 0 || !S_ISREG(status.st_mode))
        return rope_fail(error, "%s is no regular file, expected a .npy file", array->path);
    unsigned char head[12];
    if (fread(head, 1, 10, array->file) != 10 || memcmp(head, "\x93NUMPY", 6) != 0)
        return rope_fail(error, "%s is no .npy file: its magic is missing", array->path);
    if (head[6] < 1 || head[6] > 3 || head[7] != 0)
        return rope_fail(error, "%s: .npy version %d.%d is unknown, expected 1.0 to 3.0",
                         array->path, head[6], head[7]);
    uint32_t length = (uint32_t)head[8] | (uint32_t)head[9] << 8;
    size_t start = 10;
    if (head[6] > 1) {
        if (fread(head + 10, 1, 2, array->file) != 2)
            return rope_fail(error, "%s: the .npy header is cut off", array->path);
        length |= (uint32_t)head[10] << 16 | (uint32_t)head[11] << 24;
        start = 12;
    }
    if (length > HEADER_LIMIT)
        return rope_fail(error, "%s: the .npy header has %" PRIu32 " bytes, expected at most %d",
                         array->path, length, HEADER_LIMIT);
    char *text = malloc(length + 1);
    if (text == NULL)
        return rope_fail(error, "%s: out of memory for the .npy header", array->path);
    bool ok;
    if (fread(text, 1, length, array->file) != length) {
        ok = rope_fail(error, "%s: the .npy header is cut off", array->path);
    } else {
        cursor c = {text, text + length};
        ok = read_dictionary(&c, array, error);
    }
    free(text);
    array->data_offset = (int64_t)(start + length);
    return ok && check_size(array, status.st_size, error);
}

bool npy_open(const char *path, npy_array *array, rope_error *error)
{
    *array = (npy_array){0};
    snprintf(array->path, sizeof array->path, "%s", path);
    if (!rope_open_regular(path, &array->file, error))
        return false;
    if (read_header(array, error))
        return true;
    npy_close(array);
    return false;
}

bool npy_read(const npy_array *array, int64_t first, int64_t count, void *data, rope_error *error)
{
    if (first < 0 || count < 0 || first > array->count || count > array->count - first)
        return rope_fail(error,
                         "%s: elements %" PRId64 " and %" PRId64 " more asked for, it has %" PRId64,
                         array->path, first, count, array->count);
    int64_t bytes = (int64_t)array->element_bytes;
    if (fseeko(array->file, array->data_offset + first * bytes, SEEK_SET) != 0 ||
        fread(data, array->element_bytes, (size_t)count, array->file) != (size_t)count)
        return rope_fail(error, "%s: cannot read elements from %" PRId64, array->path, first);
    return true;
}

static double element(npy_type type, const char *at)
{
    float f32;
    double f64 = NAN;
    int32_t i32;
    int64_t i64;
    switch (type) {
    case NPY_F32:
        memcpy(&f32, at, sizeof f32);
        return (double)f32;
    case NPY_I32:
        memcpy(&i32, at, sizeof i32);
        return i32;
    case NPY_I64:
        memcpy(&i64, at, sizeof i64);
        return (double)i64;
    default:
        memcpy(&f64, at, sizeof f64);
        return f64;
    }
}

bool npy_read_f64(const npy_array *array, double **values, rope_error *error)
{
    *values = NULL;
    if (array->type != NPY_F32 && array->type != NPY_F64 && array->type != NPY_I32 &&
        array->type != NPY_I64)
        return rope_fail(error, "%s: numbers are expected as f4, f8, i4 or i8", array->path);
    /* The file's size has confirmed the count, so that no header alone asks for memory. */
    char *raw = malloc((size_t)array->count * array->element_bytes + 1);
    double *out = malloc((size_t)array->count * sizeof *out + 1);
    bool ok = raw != NULL && out != NULL;
    if (!ok)
        rope_fail(error, "%s: out of memory for %" PRId64 " numbers", array->path, array->count);
    ok = ok && npy_read(array, 0, array->count, raw, error);
    for (int64_t i = 0; ok && i < array->count; i++)
        out[i] = element(array->type, raw + (size_t)i * array->element_bytes);
    free(raw);
    if (!ok) {
        free(out);
        out = NULL;
    }
    *values = out;
    return ok;
}

void npy_close(npy_array *array)
{
    if (array->file != NULL)
        fclose(array->file);
    array->file = NULL;
}

/* Magic, version 1.0, and the dictionary, padded so that the data start at a multiple of 64. */
static int format_header(char *text, size_t size, npy_type type, int dimensions,
                         const int64_t *shape)
{
    char list[NPY_MAX_DIMENSIONS * 24] = "", dictionary[320];
    size_t used = 0;
    for (int i = 0; i < dimensions; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%" PRId64 "%s",
                                 i == 0 ? "" : ", ", shape[i], dimensions == 1 ? "," : "");
    int length = snprintf(dictionary, sizeof dictionary,
                          "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                          types[type].descr, list);
    int total = (10 + length + 1 + 63) / 64 * 64;
    if ((size_t)total >= size)
        return -1;
    memset(text, ' ', (size_t)total);
    memcpy(text, "\x93NUMPY\x01\x00", 8);
    text[8] = (char)((total - 10) & 0xff);
    text[9] = (char)((total - 10) >> 8);
    memcpy(text + 10, dictionary, (size_t)length);
    text[total - 1] = '\n';
    return total;
}

static bool write_all(FILE *file, const char *header, int header_bytes, const void *data,
                      size_t bytes)
{
    bool ok = fwrite(header, 1, (size_t)header_bytes, file) == (size_t)header_bytes &&
              fwrite(data, 1, bytes, file) == bytes && fflush(file) == 0;
    return fclose(file) == 0 && ok;
}

bool npy_write(const char *path, npy_type type, int dimensions, const int64_t *shape,
               const void *data, rope_error *error)
{
    char header[512], temporary[4096];
    int header_bytes = dimensions > NPY_MAX_DIMENSIONS
                           ? -1
                           : format_header(header, sizeof header, type, dimensions, shape);
    if (header_bytes < 0)
        return rope_fail(error, "cannot write %s: more than %d dimensions", path,
                         NPY_MAX_DIMENSIONS);
    size_t bytes = types[type].bytes;
    for (int i = 0; i < dimensions; i++)
        bytes *= (size_t)shape[i];
    /* A device or a pipe is written to, not replaced. */
    struct stat status;
    bool direct = stat(path, &status) == 0 && !S_ISREG(status.st_mode);
    int length = direct ? snprintf(temporary, sizeof temporary, "%s", path)
                        : snprintf(temporary, sizeof temporary, "%s.tmp.%ld", path, (long)getpid());
    if (length >= (int)sizeof temporary)
        return rope_fail(error, "cannot write %.200s...: its name is too long", path);
    /* Signals that end the program wait until the file is whole or gone; not on a pipe, which may
     * wait for its reader for ever, and where there is nothing to take away. */
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t endings, before;
    sigemptyset(&endings);
    for (size_t i = 0; !direct && i < sizeof ends / sizeof ends[0]; i++)
        sigaddset(&endings, ends[i]);
    sigprocmask(SIG_BLOCK, &endings, &before);
    FILE *file = fopen(temporary, "wb");
    bool ok = file != NULL && write_all(file, header, header_bytes, data, bytes) &&
              (direct || rename(temporary, path) == 0);
    int cause = errno;
    if (!ok && file != NULL && !direct)
        unlink(temporary);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return ok || rope_fail(error, "cannot write %s: %s", path, strerror(cause != 0 ? cause : EIO));
}

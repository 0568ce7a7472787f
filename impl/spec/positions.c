#include "impl/spec/positions.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "impl/spec/npy.h"

static const char wanted[] = "expected A:B (B excluded), A:B:STEP, a comma list, or a .npy file";

/* A decimal int64 that fills text[0, length). */
static bool number(const char *text, size_t length, int64_t *value, rope_error *error)
{
    char digits[32];
    const char *first = text + (length > 0 && *text == '-');
    size_t count = strspn(first, "0123456789");
    if (count == 0 || first + count != text + length)
        return rope_fail(error, "position '%.*s' is no whole number, %s", (int)length, text,
                         wanted);
    bool fits = length < sizeof digits;
    if (fits) {
        memcpy(digits, text, length);
        digits[length] = '\0';
        errno = 0;
        *value = strtoll(digits, NULL, 10);
        fits = errno == 0;
    }
    return fits || rope_fail(error, "position '%.*s' is past the range of 64-bit integers",
                             (int)length, text);
}

typedef struct span {
    int64_t first, end, step; /* end excluded for a range; = first for a single number */
    bool range;
} span;

/* One item, text[0, length): N, A:B or A:B:STEP. */
static bool read_span(const char *text, size_t length, span *s, rope_error *error)
{
    int64_t values[3] = {0, 0, 1};
    int count = 0;
    for (size_t at = 0;; at++) {
        size_t part = 0;
        while (at + part < length && text[at + part] != ':')
            part++;
        if (count == 3)
            return rope_fail(error, "positions '%.*s' has more than two colons, %s", (int)length,
                             text, wanted);
        if (!number(text + at, part, &values[count++], error))
            return false;
        at += part;
        if (at >= length)
            break;
    }
    *s = (span){values[0], values[1], values[2], count > 1};
    if (!s->range)
        return true;
    if (s->step == 0)
        return rope_fail(error, "positions '%.*s' has step 0", (int)length, text);
    if (s->step > 0 ? s->end <= s->first : s->end >= s->first)
        return rope_fail(error, "positions '%.*s' is an empty range: B is excluded", (int)length,
                         text);
    return true;
}

/* Members of a range, without overflow: the difference of two int64 fits uint64. */
static uint64_t span_count(const span *s)
{
    if (!s->range)
        return 1;
    uint64_t width =
        s->step > 0 ? (uint64_t)s->end - (uint64_t)s->first : (uint64_t)s->first - (uint64_t)s->end;
    uint64_t step = s->step > 0 ? (uint64_t)s->step : 0 - (uint64_t)s->step;
    return (width - 1) / step + 1;
}

static bool append(rope_positions *p, const span *s, int64_t limit, rope_error *error)
{
    uint64_t count = span_count(s);
    if (count > (uint64_t)limit - (uint64_t)p->tokens)
        return rope_fail(error, "more than %" PRId64 " positions are too many here", limit);
    int64_t *values = realloc(p->values, ((size_t)p->tokens + count) * sizeof *values);
    if (values == NULL)
        return rope_fail(error, "out of memory for %" PRIu64 " positions", count);
    p->values = values;
    for (uint64_t i = 0; i < count; i++)
        values[p->tokens++] = (int64_t)((uint64_t)s->first + i * (uint64_t)s->step);
    return true;
}

static bool read_text(const char *text, int64_t limit, rope_positions *p, rope_error *error)
{
    for (const char *item = text;;) {
        size_t length = strcspn(item, ",");
        span s;
        if (!read_span(item, length, &s, error) || !append(p, &s, limit, error))
            return false;
        if (item[length] == '\0')
            return true;
        item += length + 1;
    }
}

static bool read_array(npy_array *array, int64_t limit, rope_positions *p, rope_error *error)
{
    if ((array->type != NPY_I32 && array->type != NPY_I64) || array->dimensions < 1 ||
        array->dimensions > 2)
        return rope_fail(error, "%s: positions expect int32 or int64 [tokens] or [tokens][axes]",
                         array->path);
    int64_t axes = array->dimensions == 2 ? array->shape[1] : 1;
    if (array->count < 1 || axes < 1 || axes > 4)
        return rope_fail(error, "%s: positions expect at least one token and 1 to 4 axes",
                         array->path);
    if (array->dimensions == 2 && array->fortran_order && axes > 1 && array->shape[0] > 1)
        return rope_fail(error, "%s: positions expect C order", array->path);
    if (array->shape[0] > limit)
        return rope_fail(error, "%s: more than %" PRId64 " positions are too many here",
                         array->path, limit);
    p->values = calloc((size_t)array->count, sizeof *p->values);
    if (p->values == NULL)
        return rope_fail(error, "out of memory for %" PRId64 " positions", array->count);
    p->tokens = array->shape[0];
    p->axes = (uint32_t)axes;
    if (!npy_read(array, 0, array->count, p->values, error))
        return false;
    if (array->type == NPY_I32) {
        /* Widened in place from the end: element i of 8 bytes never covers one still unread. */
        for (int64_t i = array->count - 1; i >= 0; i--) {
            int32_t narrow;
            memcpy(&narrow, (const char *)p->values + i * 4, sizeof narrow);
            p->values[i] = narrow;
        }
    }
    return true;
}

static bool has_suffix(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

bool rope_positions_parse(const char *text, int64_t limit, rope_positions *positions,
                          rope_error *error)
{
    *positions = (rope_positions){.axes = 1};
    bool ok;
    if (has_suffix(text, ".npy")) {
        npy_array array;
        ok = npy_open(text, &array, error);
        if (ok) {
            ok = read_array(&array, limit, positions, error);
            npy_close(&array);
        }
    } else {
        ok = read_text(text, limit, positions, error);
    }
    if (!ok)
        rope_positions_free(positions);
    return ok;
}

bool rope_range_parse(const char *text, int64_t *first, int64_t *end, rope_error *error)
{
    span s;
    size_t length = strlen(text);
    if (!read_span(text, length, &s, error))
        return false;
    const char *colon = strchr(text, ':');
    if (!s.range || strchr(colon + 1, ':') != NULL)
        return rope_fail(error, "positions '%s' is no range, expected A:B (B excluded)", text);
    *first = s.first;
    *end = s.end;
    return true;
}

void rope_positions_free(rope_positions *positions)
{
    free(positions->values);
    *positions = (rope_positions){.axes = 1};
}

/* The one-line text of a case, and its way back. Fields are separated by ';'. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/case.h"

static const char *const kind_names[PROP_DATA_KINDS] = {"usual",  "wide",    "edge",
                                                        "cancel", "special", "integer"};

/* ---- writing ---- */

static void write_shape(FILE *f, const char *name, const prop_shape *shape)
{
    fprintf(f, ";%s=%s:%" PRId64 ":%" PRId64 ":%" PRId64 "%s", name, prop_place_name(shape->place),
            shape->shift, shape->token_gap, shape->head_gap, shape->heads_first ? ":heads" : "");
}

static void write_positions(FILE *f, const prop_case *c)
{
    for (int list = 0; list < c->lists; list++) {
        fprintf(f, ";%s=", list == 0 ? "at" : "and");
        const int64_t *p = prop_case_list(c, list);
        for (int64_t t = 0; t < c->x.tokens; t++)
            for (uint32_t a = 0; a < c->axes; a++)
                fprintf(f, "%s%" PRId64, a > 0 ? ":" : t > 0 ? "," : "", *p++);
    }
}

/* Elements that are not 0: the rest is. */
static void write_bits(FILE *f, const prop_case *c, int stream)
{
    fprintf(f, ";%s=", stream == 0 ? "bits" : "bits2");
    const char *separator = "";
    for (int64_t e = 0; e < prop_case_elements(c); e++)
        if (c->bits[stream][e] != 0) {
            fprintf(f, "%s%" PRId64 ":%" PRIx64, separator, e, c->bits[stream][e]);
            separator = ",";
        }
}

char *prop_case_format(const prop_subject *s, const prop_case *c)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f == NULL)
        return NULL;
    fprintf(f, "%s;spec=%s;dtype=%s", c->property->name, s->spec_text,
            rope_dtype_name((uint32_t)s->dtype));
    if (s->truth == ROPE_TRUTH_AS_TRAINED)
        fprintf(f, ";truth=as-trained");
    fprintf(f, ";tokens=%" PRId64 ";heads=%" PRId64, c->x.tokens, c->x.heads);
    write_shape(f, "x", &c->x);
    if (c->in_place)
        fprintf(f, ";in_place=1");
    else
        write_shape(f, "y", &c->y);
    if (c->position_gap != 0)
        fprintf(f, ";gap=%" PRId64, c->position_gap);
    if (c->parameter != 0)
        fprintf(f, ";k=%" PRId64, c->parameter);
    write_positions(f, c);
    if (c->bits[0] == NULL || c->bits[1] == NULL)
        fprintf(f, ";data=%s:%" PRIu64, kind_names[c->kind], c->seed);
    for (int i = 0; i < PROP_STREAMS; i++)
        if (c->bits[i] != NULL)
            write_bits(f, c, i); /* also when all are 0: absent would mean generated */
    if (fclose(f) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* ---- reading ---- */

/* The value of a field, as a malloc'ed string; NULL when it is absent. The first field is the
 * property's name and has no '='. */
static char *field(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strchr(text, ';'); at != NULL; at = strchr(at + 1, ';'))
        if (strncmp(at + 1, name, length) == 0 && at[1 + length] == '=')
            return strndup(at + length + 2, strcspn(at + length + 2, ";"));
    return NULL;
}

static const char *const field_names[] = {"spec", "dtype", "truth", "tokens", "heads",
                                          "x",    "y",     "gap",   "k",      "at",
                                          "and",  "data",  "bits",  "bits2",  "in_place"};
enum { FIELDS = sizeof field_names / sizeof field_names[0] };

/* Every field is known and there once: one that is misspelt or overruled would judge another case
 * than the text says. */
static bool check_fields(const char *text, rope_error *error)
{
    bool seen[FIELDS] = {false};
    for (const char *at = strchr(text, ';'); at != NULL; at = strchr(at + 1, ';')) {
        int length = (int)strcspn(at + 1, ";=");
        int i = 0;
        while (i < FIELDS && ((int)strlen(field_names[i]) != length ||
                              strncmp(at + 1, field_names[i], (size_t)length) != 0))
            i++;
        int shown = length < 60 ? length : 60;
        if (i == FIELDS)
            return rope_fail(error,
                             "case: unknown field '%.*s', expected spec, dtype, truth, tokens, "
                             "heads, x, y, in_place, gap, k, at, and, data, bits or bits2",
                             shown, at + 1);
        if (at[1 + length] != '=')
            return rope_fail(error, "case: field %s has no value, expected %s=...", field_names[i],
                             field_names[i]);
        if (seen[i])
            return rope_fail(error, "case: field %s given twice, expected once", field_names[i]);
        seen[i] = true;
    }
    return true;
}

/* A number at *at, which moves past it. */
static bool number(const char **at, int64_t *value)
{
    char *end;
    if (!isdigit((unsigned char)**at) && **at != '-')
        return false;
    errno = 0;
    long long got = strtoll(*at, &end, 10);
    if (end == *at || errno == ERANGE)
        return false;
    *at = end;
    *value = got;
    return true;
}

/* The same without a sign, in that base (10 or 16; no 0x). */
static bool natural(const char **at, int base, uint64_t *value)
{
    char *end;
    unsigned char first = (unsigned char)**at;
    if (!(base == 16 ? isxdigit(first) : isdigit(first)) || (*at)[1] == 'x' || (*at)[1] == 'X')
        return false;
    errno = 0;
    *value = strtoull(*at, &end, base);
    *at = end;
    return errno != ERANGE;
}

static bool integer_field(const char *text, const char *name, int64_t low, int64_t high,
                          int64_t usual, int64_t *value, rope_error *error)
{
    char *given = field(text, name);
    *value = usual;
    if (given == NULL)
        return true;
    const char *at = given;
    bool good = number(&at, value) && *at == '\0' && *value >= low && *value <= high;
    if (!good)
        rope_fail(error, "case: %s=%.60s is no whole number from %lld to %lld", name, given,
                  (long long)low, (long long)high);
    free(given);
    return good;
}

bool prop_case_parse_header(const char *text, prop_case_header *header, rope_error *error)
{
    *header = (prop_case_header){0};
    if (!check_fields(text, error))
        return false;
    header->spec_text = field(text, "spec");
    char *dtype = field(text, "dtype"), *truth = field(text, "truth");
    int value = dtype != NULL ? rope_dtype_from_name(dtype) : ROPE_F32;
    bool good = true;
    if (header->spec_text == NULL)
        good = rope_fail(error, "case has no field spec=..., expected PROPERTY;spec=...;at=...");
    else if (value < 0)
        good =
            rope_fail(error, "case: unknown dtype '%.60s', expected f32, f16, bf16 or f64", dtype);
    else if (truth != NULL && strcmp(truth, "as-trained") != 0 && strcmp(truth, "exact") != 0)
        good = rope_fail(error, "case: unknown truth '%.60s', expected exact or as-trained", truth);
    header->dtype = (rope_dtype)value;
    header->truth = truth != NULL && strcmp(truth, "as-trained") == 0 ? ROPE_TRUTH_AS_TRAINED
                                                                      : ROPE_TRUTH_EXACT;
    free(dtype);
    free(truth);
    if (!good) {
        free(header->spec_text);
        header->spec_text = NULL;
    }
    return good;
}

/* The bit patterns of MOST_ELEMENTS take 512 MiB. */
enum { MOST_TOKENS = 1 << 16, MOST_HEADS = 1 << 12, MOST_GAP = 1 << 20, MOST_ELEMENTS = 1 << 26 };

static bool read_shape(const char *text, const char *name, prop_shape *shape, rope_error *error)
{
    char *given = field(text, name);
    if (given == NULL)
        return true;
    size_t length = strcspn(given, ":");
    int place = 0;
    while (place < PROP_PLACES && (strlen(prop_place_name((prop_place)place)) != length ||
                                   strncmp(given, prop_place_name((prop_place)place), length) != 0))
        place++;
    shape->place = (prop_place)place;
    int64_t *const values[] = {&shape->shift, &shape->token_gap, &shape->head_gap};
    const char *at = given + length;
    bool good = place < PROP_PLACES;
    for (int i = 0; good && i < 3 && *at == ':'; i++) {
        at++;
        good = number(&at, values[i]) && *values[i] >= 0 && *values[i] <= MOST_GAP;
    }
    shape->heads_first = good && strcmp(at, ":heads") == 0;
    good = good && (*at == '\0' || shape->heads_first);
    if (!good)
        rope_fail(error,
                  "case: %s=%.60s, expected PLACE:SHIFT:TOKEN_GAP:HEAD_GAP[:heads] with "
                  "PLACE start, end, rows, far-tokens or far-heads",
                  name, given);
    free(given);
    return good;
}

static bool read_positions(const char *text, const char *name, const prop_case *c, int64_t *values,
                           rope_error *error)
{
    char *given = field(text, name);
    if (given == NULL)
        return rope_fail(error, "case has no field %s=..., expected positions", name);
    const char *at = given;
    int64_t count = c->x.tokens * c->axes;
    bool good = true;
    for (int64_t i = 0; good && i < count; i++) {
        good = number(&at, &values[i]);
        char wanted = i + 1 == count ? '\0' : (i + 1) % c->axes == 0 ? ',' : ':';
        good = good && *at == wanted;
        at++;
    }
    if (!good)
        rope_fail(error,
                  "case: %s=%.60s, expected %lld positions of %u axes, POSITION:...,..., each "
                  "within 64 bits",
                  name, given, (long long)c->x.tokens, c->axes);
    free(given);
    return good;
}

static bool read_bits(const char *text, const prop_subject *s, prop_case *c, int stream,
                      rope_error *error)
{
    const char *name = stream == 0 ? "bits" : "bits2";
    char *given = field(text, name);
    if (given == NULL)
        return true;
    int64_t count = prop_case_elements(c), index = 0;
    uint64_t largest = UINT64_MAX >> (64 - 8 * rope_dtype_bytes((uint32_t)s->dtype));
    bool *seen = calloc((size_t)count, sizeof *seen);
    c->bits[stream] = calloc((size_t)count, sizeof **c->bits);
    bool good = c->bits[stream] != NULL && seen != NULL;
    const char *at = given;
    while (good && *at != '\0') {
        good = number(&at, &index) && *at++ == ':' && index >= 0 && index < count && !seen[index] &&
               natural(&at, 16, &c->bits[stream][index]) && c->bits[stream][index] <= largest &&
               (*at == '\0' || (*at == ',' && at[1] != '\0'));
        if (good)
            seen[index] = true;
        at += good && *at == ',';
    }
    free(seen);
    free(given);
    return good || rope_fail(error,
                             "case: %s=..., expected ELEMENT:BITS,... with elements below "
                             "%lld, each once, and bits in hexadecimal up to %" PRIx64,
                             name, (long long)count, largest);
}

static bool read_data(const char *text, prop_case *c, rope_error *error)
{
    char *given = field(text, "data");
    if (given == NULL)
        return true;
    size_t length = strcspn(given, ":");
    int kind = 0;
    while (kind < PROP_DATA_KINDS &&
           (strlen(kind_names[kind]) != length || strncmp(given, kind_names[kind], length) != 0))
        kind++;
    c->kind = (prop_data_kind)kind;
    const char *at = given + length + 1; /* read only where there is a ':' */
    bool good =
        kind < PROP_DATA_KINDS && given[length] == ':' && natural(&at, 10, &c->seed) && *at == '\0';
    if (!good)
        rope_fail(error, "case: data=%.60s, expected KIND:SEED with a seed below 2^64", given);
    free(given);
    return good;
}

bool prop_case_parse(const char *text, const prop_subject *s, prop_case *c, rope_error *error)
{
    char *name = strndup(text, strcspn(text, ";"));
    const prop_property *property = name != NULL ? prop_property_find(name) : NULL;
    *c = (prop_case){0};
    if (property == NULL || property->judge == NULL)
        rope_fail(error,
                  "case: '%.60s' is no property that has cases, see `tightrope list "
                  "properties`",
                  name != NULL ? name : "");
    free(name);
    int64_t tokens, heads, in_place;
    if (property == NULL || property->judge == NULL || !check_fields(text, error) ||
        !integer_field(text, "tokens", 1, MOST_TOKENS, 1, &tokens, error) ||
        !integer_field(text, "heads", 1, MOST_HEADS, 1, &heads, error))
        return false;
    if (tokens * heads > MOST_ELEMENTS / s->spec->head_dim)
        return rope_fail(error, "case: tokens=%lld heads=%lld, expected at most %d elements",
                         (long long)tokens, (long long)heads, MOST_ELEMENTS);
    char *second = field(text, "and");
    int lists = second != NULL ? 2 : 1;
    free(second);
    if (!prop_case_new(c, property, s, tokens, heads, lists))
        return rope_fail(error, "out of memory");
    bool good = integer_field(text, "in_place", 0, 1, 0, &in_place, error) &&
                integer_field(text, "gap", 0, MOST_GAP, 0, &c->position_gap, error) &&
                integer_field(text, "k", INT64_MIN, INT64_MAX, 0, &c->parameter, error) &&
                read_shape(text, "x", &c->x, error) && read_shape(text, "y", &c->y, error) &&
                read_positions(text, "at", c, prop_case_list(c, 0), error) &&
                (lists < 2 || read_positions(text, "and", c, prop_case_list(c, 1), error)) &&
                read_data(text, c, error) && read_bits(text, s, c, 0, error) &&
                read_bits(text, s, c, 1, error);
    if (good && in_place && !(s->kernel->header.flags & ROPE_IN_PLACE))
        good = rope_fail(error, "case is in place, which kernel %s does not take", s->kernel->name);
    c->in_place = good && in_place != 0;
    if (!good)
        prop_case_free(c);
    return good;
}

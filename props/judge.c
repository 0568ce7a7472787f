#include "props/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"

bool prop_work_new(const prop_subject *s, const prop_case *c, int streams, prop_work *w,
                   prop_sheet *sheet)
{
    size_t bounds = (size_t)(c->x.tokens * s->frequencies->pairs) * sizeof(double);
    *w = (prop_work){.bytes = (size_t)prop_case_elements(c) * rope_dtype_bytes(s->dtype)};
    bool good = true;
    for (int i = 0; i < streams; i++)
        good &= (w->x[i] = malloc(w->bytes)) != NULL;
    for (int i = 0; i < WORK_RESULTS; i++)
        good &= (w->y[i] = malloc(w->bytes)) != NULL;
    for (int i = 0; i < WORK_BOUNDS; i++)
        good &= (w->bounds[i] = malloc(bounds)) != NULL;
    w->positions = malloc((size_t)(c->x.tokens * c->axes) * sizeof *w->positions);
    good &= w->positions != NULL;
    for (int i = 0; good && i < streams; i++)
        prop_case_data(s, c, i, w->x[i]);
    for (int i = 0; good && i < WORK_RESULTS; i++)
        memset(w->y[i], 0xff, w->bytes); /* NaN in every dtype */
    if (good)
        return true;
    prop_fail(sheet, "internal: out of memory");
    prop_work_free(w);
    return false;
}

void prop_work_free(prop_work *w)
{
    for (int i = 0; i < PROP_STREAMS; i++)
        free(w->x[i]);
    for (int i = 0; i < WORK_RESULTS; i++)
        free(w->y[i]);
    for (int i = 0; i < WORK_BOUNDS; i++)
        free(w->bounds[i]);
    free(w->positions);
    *w = (prop_work){0};
}

prop_vector prop_get(const prop_subject *s, const void *packed, int64_t row, int64_t pair)
{
    double a, b;
    prop_load_pair(s, packed, row, pair, &a, &b);
    return (prop_vector){a, b};
}

long double prop_norm(prop_vector v)
{
    /* The squares of any f64 are within long double's range, 2^-2148 to 2^2048: hypotl's care is
     * not needed here, and it took a twentieth of a verification. */
    return sqrtl(v.a * v.a + v.b * v.b);
}

prop_vector prop_minus(prop_vector v, prop_vector w)
{
    return (prop_vector){v.a - w.a, v.b - w.b};
}

prop_vector prop_scale(long double k, prop_vector v)
{
    return (prop_vector){k * v.a, k * v.b};
}

long double prop_attention_factor(const prop_subject *s)
{
    return (long double)s->attention_factor.hi + s->attention_factor.lo;
}

long double prop_absolute(const prop_subject *s, double bound, long double norm_x)
{
    long double u = rope_dtype_unit_roundoff((uint32_t)s->dtype);
    return bound * u * prop_attention_factor(s) * norm_x + prop_underflow(s->dtype);
}

bool prop_contracts(const prop_subject *s, double a, double b, double c)
{
    return prop_has_contract(s->dtype, a) && prop_has_contract(s->dtype, b) &&
           prop_has_contract(s->dtype, c);
}

prop_where prop_where_is(const prop_subject *s, const int64_t *position, int64_t pair,
                         prop_vector x)
{
    return (prop_where){position[s->frequencies->axis[pair]], pair, (double)x.a, (double)x.b};
}

void prop_judge(const prop_subject *s, prop_sheet *sheet, bool known, long double deviation,
                long double tolerance, long double scale, prop_where where, const char *text)
{
    long double unit = scale * rope_dtype_unit_roundoff((uint32_t)s->dtype);
    if (!(unit > 0)) /* x = 0: all is underflow, nothing in units of it */
        unit = prop_underflow(s->dtype);
    /* Rounded so that the comparison of the two f64 errs on the side of the kernel by 2^-52 only.
     */
    double d = (double)(deviation / unit), t = (double)(tolerance / unit) * (1 + 0x1p-50);
    if (prop_compare(sheet, 0, s->dtype, d, known ? t : NAN, where))
        return;
    if (where.pair == PROP_NO_PAIR)
        prop_fail(sheet, "%s: position %lld: deviation %.5g u, tolerance %.5g u", text,
                  (long long)where.position, d, t);
    prop_fail(sheet,
              "%s: position %lld, pair %lld, x = (%a, %a): deviation %.5g u, tolerance %.5g u",
              text, (long long)where.position, (long long)where.pair, where.x0, where.x1, d, t);
}

void prop_same_row(const prop_subject *s, const prop_case *c, const prop_work *w, int64_t row,
                   const void *y, const void *z, const double *bounds, const char *text,
                   prop_sheet *sheet)
{
    int64_t pairs = s->frequencies->pairs, token = row / c->x.heads;
    for (int64_t i = 0; i < pairs; i++) {
        double b = bounds[token * pairs + i];
        prop_vector x = prop_get(s, w->x[0], row, i);
        prop_vector difference = prop_minus(prop_get(s, y, row, i), prop_get(s, z, row, i));
        sheet->expected++;
        prop_judge(s, sheet, prop_has_contract(s->dtype, b), prop_norm(difference),
                   2 * prop_absolute(s, b, prop_norm(x)), prop_attention_factor(s) * prop_norm(x),
                   prop_where_is(s, prop_case_list(c, 0) + token * c->axes, i, x), text);
    }
}

void prop_same_results(const prop_subject *s, const prop_case *c, const prop_work *w, const void *y,
                       const void *z, const double *bounds, const char *text, prop_sheet *sheet)
{
    for (int64_t row = 0; row < c->x.tokens * c->x.heads; row++)
        prop_same_row(s, c, w, row, y, z, bounds, text, sheet);
}

void prop_same_bits(const prop_subject *s, const prop_case *c, const int64_t *positions,
                    const void *y, const void *z, const char *text, prop_sheet *sheet)
{
    int64_t rows = c->x.tokens * c->x.heads;
    size_t bytes = (size_t)c->x.head_dim * rope_dtype_bytes(s->dtype);
    for (int64_t row = 0; row < rows; row++) {
        bool same = memcmp((const char *)y + (size_t)row * bytes,
                           (const char *)z + (size_t)row * bytes, bytes) == 0;
        prop_where where = prop_where_at(positions[row / c->x.heads * c->axes]);
        sheet->expected++;
        prop_compare(sheet, 0, s->dtype, same ? 0 : 1, 0, where);
        if (!same)
            prop_fail(sheet, "%s: row %lld at position %lld has other bits", text, (long long)row,
                      (long long)where.position);
    }
}

bool prop_generate_usual(const prop_subject *s, const prop_property *property, int64_t index,
                         uint64_t salt, int lists, prop_case *c)
{
    static const prop_data_kind kinds[] = {PROP_DATA_USUAL, PROP_DATA_WIDE};
    uint64_t h = prop_hash(s->seed, (uint64_t)index, salt);
    int64_t tokens = 1 + (int64_t)(h % 5), heads = 1 + (int64_t)(h >> 8 & 3);
    if (!prop_case_new(c, property, s, tokens, heads, lists))
        return false;
    /* Sizes start elsewhere in the list of arrangements, so that light specs cover it together. */
    prop_case_arrange(s, c, (uint64_t)(index + s->spec->rotary_dim / 2));
    for (int list = 0; list < lists; list++) {
        uint64_t g = prop_hash(h, (uint64_t)list, 5);
        int count;
        const int64_t *cluster = prop_cluster((int)(g % PROP_CLUSTERS), &count);
        int64_t start = prop_random_position(prop_hash(g, 1, 0));
        for (int64_t t = 0; t < tokens; t++)
            for (uint32_t a = 0; a < c->axes; a++)
                prop_case_list(c, list)[t * c->axes + a] =
                    (index % 2 == 0 ? cluster[(t + (int)a) % count]
                                    : start + (int64_t)(prop_hash(g, 2, (uint64_t)t) & 31)) +
                    (int64_t)a * 3;
    }
    c->kind = kinds[index % 2];
    c->seed = h;
    return true;
}

int64_t prop_count_usual(const prop_subject *s, int64_t main, int64_t usual, int64_t light)
{
    int64_t count = s->weight == PROP_MAIN ? main : s->weight == PROP_USUAL ? usual : light;
    return s->level == PROP_QUICK ? count : 8 * count;
}

enum { LONG_PAIRS = 256, SHORT_PAIRS = 8 };

bool prop_long_row(const prop_subject *s)
{
    return s->frequencies->pairs >= LONG_PAIRS;
}

bool prop_many_rows(const prop_subject *s, int64_t index)
{
    return (index + (s->frequencies->pairs <= SHORT_PAIRS)) % 2 == 1;
}

#include "props/dump_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows seen, by the hash of their output: direct-mapped, so memory is bounded and an old row may be
 * forgotten. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { SEEN = 1 << 6 }; /* an input is a few rows */
#else
enum { SEEN = 1 << 14 };
#endif
typedef struct {
    uint64_t output, input;
    int64_t token, head;
} seen_row;

struct prop_rows {
    seen_row seen[SEEN];
};

prop_rows *prop_rows_new(void)
{
    return calloc(1, sizeof(prop_rows));
}

void prop_rows_free(prop_rows *r)
{
    free(r);
}

static bool same_bits(double a, double b)
{
    return (a == b && signbit(a) == signbit(b)) || (isnan(a) && isnan(b));
}

static uint64_t mix(uint64_t hash, double element)
{
    uint64_t bits;
    memcpy(&bits, &element, 8);
    hash = (hash ^ bits) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 32;
}

prop_look prop_rows_look(const prop_model *m, const double *x, const double *y)
{
    int64_t d = m->head_dim;
    prop_look look = {.output = 0x9e3779b97f4a7c15u,
                      .input = 0x9e3779b97f4a7c15u,
                      .equal = true,
                      .zero = true,
                      .changed_first = -1,
                      .nan_first = -1};
    for (int64_t i = 0; i < d; i++) {
        bool same = same_bits(x[i], y[i]);
        look.output = mix(look.output, y[i]);
        look.input = mix(look.input, x[i]);
        look.equal = look.equal && same;
        look.zero = look.zero && y[i] == 0;
        if (same || (i >= m->rotary_offset && i < m->rotary_offset + m->rotary_dim))
            continue;
        if (isnan(y[i]) && look.nan++ == 0)
            look.nan_first = i;
        if (!isnan(y[i]) && look.changed++ == 0)
            look.changed_first = i;
    }
    return look;
}

void prop_rows_take(prop_rows *r, int64_t token, int64_t head, bool above, const prop_look *look,
                    prop_stats *s)
{
    s->rows++;
    s->rows_wrong += above;
    s->rows_unrotated += above && look->equal;
    s->rows_zero += above && look->zero;
    if (look->nan > 0)
        prop_stats_nan(s, token, head, look->nan_first, look->nan);
    if (look->changed > 0 && s->changed_outside == 0) {
        s->changed_token = token;
        s->changed_head = head;
        s->changed_element = look->changed_first;
    }
    s->changed_outside += look->changed;
    seen_row *seen = &r->seen[look->output % SEEN];
    if (above && !look->zero && !look->equal && seen->output == look->output &&
        seen->input != look->input && s->rows_stale++ == 0) {
        s->first_stale = (prop_place){token, head, -1};
        s->stale_source = (prop_place){seen->token, seen->head, -1};
    }
    if (seen->output != look->output)
        *seen = (seen_row){look->output, look->input, token, head};
}

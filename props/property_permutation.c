/* Permutation equivalence: the two pairings are one rotation in another order of elements.
 *     rope_half(P x) = P rope_interleaved(x),  P: element 2i -> i, 2i + 1 -> i + rotary_dim/2.
 * Both sides are results of kernels: the kernel itself where it takes both pairings, and a
 * registered one where it takes one only.
 *
 * Tolerance. Both are within their contracts of the same exact pair: E(b, |x|) + E(b', |x|) with
 * E(b, n) = b u A n + 2 sqrt(2) eta. Unit: u A |x|.
 *
 * Kills partners taken from the wrong place in one of the pairings, and frequencies repeated for
 * adjacent pairs. Blind to a fault that both pairings share. */
#include <string.h>

#include "impl/registry.h"
#include "props/judge.h"

/* Row by row, from the order of s's pairing to that of the other. */
static void permute(const prop_subject *s, const rope_spec *other, int64_t rows, const void *from,
                    void *to)
{
    size_t bytes = rope_dtype_bytes((uint32_t)s->dtype);
    memcpy(to, from, (size_t)(rows * s->spec->head_dim) * bytes);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < s->frequencies->pairs; i++) {
            int64_t a[2], b[2];
            prop_pair(s->spec, i, &a[0], &a[1]);
            prop_pair(other, i, &b[0], &b[1]);
            for (int k = 0; k < 2; k++)
                memcpy((char *)to + (size_t)(row * s->spec->head_dim + b[k]) * bytes,
                       (const char *)from + (size_t)(row * s->spec->head_dim + a[k]) * bytes,
                       bytes);
        }
}

static void compare(const prop_subject *s, const prop_subject *other, const prop_case *c,
                    const prop_work *w, prop_sheet *sheet)
{
    int64_t pairs = s->frequencies->pairs;
    for (int64_t row = 0; row < c->x.tokens * c->x.heads; row++)
        for (int64_t i = 0; i < pairs; i++) {
            int64_t token = row / c->x.heads;
            double b = w->bounds[0][token * pairs + i], b2 = w->bounds[1][token * pairs + i];
            prop_vector x = prop_get(s, w->x[0], row, i);
            prop_vector difference =
                prop_minus(prop_get(s, w->y[0], row, i), prop_get(other, w->y[1], row, i));
            long double norm = prop_norm(x);
            sheet->expected++;
            prop_judge(s, sheet, prop_contracts(s, b, b2, 0), prop_norm(difference),
                       prop_absolute(s, b, norm) + prop_absolute(s, b2, norm),
                       prop_attention_factor(s) * norm,
                       prop_where_is(s, prop_case_list(c, 0) + token * c->axes, i, x),
                       "rope_half(P x) = P rope_interleaved(x)");
        }
}

static void judge(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_work w;
    if (!prop_work_new(s, c, 1, &w, sheet))
        return;
    rope_spec spec = *s->spec; /* shares its lists */
    spec.pairing = spec.pairing == ROPE_HALF ? ROPE_INTERLEAVED : ROPE_HALF;
    prop_subject other = *s;
    other.spec = &spec;
    other.kernel = s->partner;
    prop_case there = *c;
    there.in_place = c->in_place && (s->partner->header.flags & ROPE_IN_PLACE);
    prop_sheet apart = {0}; /* a partner's refusal is not the kernel's */
    const int64_t *positions = prop_case_list(c, 0);
    permute(s, &spec, c->x.tokens * c->x.heads, w.x[0], w.y[2]);
    if (prop_rotate(s, c, positions, w.x[0], w.y[0], sheet)) {
        bool good = prop_rotate(&other, &there, positions, w.y[2], w.y[1], &apart);
        if (!good && apart.refused && s->partner != s->kernel) {
            sheet->idle = true;
        } else if (!good) {
            prop_fail(sheet, "with the other pairing: %s", apart.reason);
        } else {
            prop_bounds(s, c->axes, positions, c->x.tokens, w.bounds[0], sheet);
            prop_bounds(&other, c->axes, positions, c->x.tokens, w.bounds[1], sheet);
            compare(s, &other, c, &w, sheet);
        }
    }
    prop_work_free(&w);
}

static int64_t count(const prop_subject *s)
{
    return s->partner == NULL ? 0 : prop_count_usual(s, 8, 4, 2);
}

static bool generate(const prop_subject *s, int64_t index, prop_case *c)
{
    return prop_generate_usual(s, &prop_permutation_property, index, 14, 1, c);
}

const prop_property prop_permutation_property = {
    .name = "permutation",
    .statement = "rope_half(P x) = P rope_interleaved(x), P: 2i -> i, 2i + 1 -> i + rotary_dim/2",
    .count = count,
    .generate = generate,
    .judge = judge,
};

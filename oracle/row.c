/* Rows: cos and sin of every pair at one position as double-double, for measuring. Each is computed
 * once with MPFR and kept. */
#include <stdlib.h>
#include <string.h>

#include "oracle/internal.h"
#include "oracle/table.h"

enum {
    ROW_BITS = 120, /* precision of cos and sin before they become double-double */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    ROW_CACHE_BYTES = 64 << 10, /* each input has an oracle of its own, and asks for a few rows */
#else
    ROW_CACHE_BYTES = 64 << 20, /* what the cached rows may hold */
#endif
    ROW_TABLE_AFTER = 2048,   /* rows computed one by one before the tables are worth building */
    ROW_MAX_ANGLE_BITS = 140, /* an angle below 2^140; above, the enclosures decide */
    ROW_WAYS = 8, /* places that a row may take: at a load of 1/2, one in 10^3 is full */
};

typedef struct row_key {
    int64_t position;
    uint32_t axis;
    uint32_t row; /* of values, 1-based; 0: free */
} row_key;

struct oracle_rows {
    size_t count; /* a power of two; a row has ROW_WAYS places in line; the first is replaced when
                     all are taken */
    row_key *keys;
    uint32_t used;
    oracle_cos_sin_dd *values; /* [count][pairs]; of a row only the pairs on its axis are set. In
                                  the order of being asked for, as they will be asked for again: in
                                  the order of their places nearly each read missed the cache */
    mpfr_t cosine, sine, angle;
    int64_t computed; /* rows so far without the tables */
    bool tables;      /* all pairs have theirs */
};

/* hi + lo for a value of ROW_BITS bits: lo is the nearest f64 to value - hi, which is at most
 * 2^-54 (for |value| <= 1), so that the rest is at most 2^-54 2^-53 = 2^-107. */
static oracle_dd to_dd(mpfr_ptr value)
{
    oracle_dd d;
    d.hi = mpfr_get_d(value, MPFR_RNDN);
    mpfr_sub_d(value, value, d.hi, MPFR_RNDN); /* exact: Sterbenz */
    d.lo = mpfr_get_d(value, MPFR_RNDN);
    return d;
}

/* The bound on the result, 2^-106 absolute:
 *   f differs from theta by at most 2^-300 theta (FREQUENCY_TRUST), and position f is rounded to w
 * = 128 + e bits, e the exponent of the product (at least 0): its error is at most 2^(e - 300) +
 * 2^(e - w), with e <= 140 at most 2^-159 + 2^-128. cos and sin change by no more than their
 * argument does; MPFR rounds them correctly to 120 bits, 2^-121; double-double adds 2^-107. The sum
 * is below 2^-106.9. */
static oracle_cos_sin_dd direct(const oracle *o, oracle_rows *rows, int64_t position, int64_t pair)
{
    const oracle_pair *p = &o->pair[pair];
    if (position == 0 || mpfr_zero_p(p->middle))
        return (oracle_cos_sin_dd){{1, 0}, {0, 0}};
    mpfr_exp_t exponent = mpfr_get_exp(p->middle) + 64;
    if (exponent < 0)
        exponent = 0;
    if (exponent > ROW_MAX_ANGLE_BITS) {
        oracle_cos_sin(o, position, pair, rows->cosine, rows->sine);
    } else {
        mpfr_set_prec(rows->angle, 128 + exponent);
        mpfr_mul_si(rows->angle, p->middle, (long)position, MPFR_RNDN);
        mpfr_sin_cos(rows->sine, rows->cosine, rows->angle, MPFR_RNDN);
    }
    oracle_cos_sin_dd r;
    r.cos = to_dd(rows->cosine);
    r.sin = to_dd(rows->sine);
    return r;
}

oracle_rows *oracle_rows_new(int64_t pairs)
{
    oracle_rows *rows = calloc(1, sizeof *rows);
    if (rows == NULL)
        return NULL;
    size_t row_bytes = (size_t)pairs * sizeof(oracle_cos_sin_dd);
    for (rows->count = 16; rows->count < 1 << 16 && 2 * rows->count * row_bytes <= ROW_CACHE_BYTES;)
        rows->count *= 2;
    rows->keys = calloc(rows->count, sizeof *rows->keys);
    rows->values = malloc(rows->count * row_bytes); /* pages are touched as rows are filled */
    mpfr_inits2(ROW_BITS, rows->cosine, rows->sine, rows->angle, (mpfr_ptr)0);
    if (rows->keys == NULL || rows->values == NULL) {
        oracle_rows_free(rows);
        return NULL;
    }
    return rows;
}

void oracle_rows_free(oracle_rows *rows)
{
    if (rows == NULL)
        return;
    mpfr_clears(rows->cosine, rows->sine, rows->angle, (mpfr_ptr)0);
    free(rows->keys);
    free(rows->values);
    free(rows);
}

/* Where a row is, or is to be put. */
static size_t place(const oracle_rows *rows, int64_t position, uint32_t axis)
{
    uint64_t h = ((uint64_t)position * 4 + axis) * 0x9e3779b97f4a7c15u;
    size_t first = (size_t)(h >> 40) & (rows->count - ROW_WAYS);
    for (size_t at = first; at < first + ROW_WAYS; at++) {
        const row_key *key = &rows->keys[at];
        if (key->row == 0 || (key->position == position && key->axis == axis))
            return at;
    }
    return first + (size_t)(h >> 61);
}

/* Positions whose blocks stay in the tables' memory of bases; outside, a base costs as much as the
 * row. */
static bool in_tables(const oracle_rows *rows, int64_t position)
{
    return rows->tables && position >= -((int64_t)1 << 23) && position < (int64_t)1 << 24;
}

static void fill(oracle *o, int64_t position, uint32_t axis, oracle_cos_sin_dd *out)
{
    if (++o->rows->computed == ROW_TABLE_AFTER)
        o->rows->tables = oracle_table_build_all(o, NULL);
    for (int64_t i = 0; i < o->pairs; i++) {
        oracle_cos_sin_dd *r = &out[i];
        if (o->pair[i].axis != axis)
            continue;
        if (!in_tables(o->rows, position) ||
            !oracle_block(o, i, position, 1, &r->cos.hi, &r->cos.lo, &r->sin.hi, &r->sin.lo, NULL))
            *r = direct(o, o->rows, position, i);
    }
}

/* The row of one axis, in the cache. */
static const oracle_cos_sin_dd *cached(oracle *o, int64_t position, uint32_t axis)
{
    oracle_rows *rows = o->rows;
    row_key *key = &rows->keys[place(rows, position, axis)];
    uint32_t index = key->row != 0 ? key->row : rows->used + 1;
    oracle_cos_sin_dd *row = rows->values + (size_t)(index - 1) * (size_t)o->pairs;
    if (key->row == 0 || key->position != position || key->axis != axis) {
        fill(o, position, axis, row);
        rows->used += key->row == 0;
        *key = (row_key){position, axis, index};
    }
    return row;
}

const oracle_cos_sin_dd *oracle_row_at(oracle *o, const int64_t *position,
                                       oracle_cos_sin_dd *scratch)
{
    if (o->axis_count == 1)
        return cached(o, position[0], 0);
    for (uint32_t axis = 0; axis < o->axis_count; axis++) {
        const oracle_cos_sin_dd *row = cached(o, position[axis], axis);
        for (int64_t i = 0; i < o->pairs; i++)
            if (o->pair[i].axis == axis)
                scratch[i] = row[i];
    }
    return scratch;
}

void oracle_row(oracle *o, const int64_t *position, oracle_cos_sin_dd *out)
{
    const oracle_cos_sin_dd *row = oracle_row_at(o, position, out);
    if (row != out)
        memcpy(out, row, (size_t)o->pairs * sizeof *out);
}

void oracle_prepare(oracle *o, int64_t first, int64_t last)
{
    oracle_rows *rows = o->rows;
    uint64_t count = (uint64_t)last - (uint64_t)first + 1;
    if (last < first)
        return;
    if (count == 0 || count > ROW_TABLE_AFTER) {
        if (!rows->tables)
            rows->tables = oracle_table_build_all(o, NULL);
        return;
    }
    oracle_cos_sin_dd *row = malloc((size_t)o->pairs * sizeof *row);
    for (int64_t position = first; row != NULL; position++) {
        int64_t each[ROPE_MAX_AXES] = {position, position, position, position};
        oracle_row(o, each, row);
        if (position == last)
            break;
    }
    free(row);
}

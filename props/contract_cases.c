/* Positions in clusters that break kernels (props/arrange.c), in windows of consecutive ones over
 * all magnitudes, and in the patterns that calls of many tokens have. */
#include "props/contract_cases.h"

#include <math.h>

#include "props/contract_calls.h"

/* Random windows of consecutive positions: cheap for kernels that hold a table. */
enum { WINDOW = 512, MAIN_WINDOWS = 24, USUAL_CASES = 20, LIGHT_CASES = 8 };
enum { MANY_HEADS = 129, BLOCK_TOKENS = 37 };

static int64_t count_positions(const prop_subject *s)
{
    static const int64_t windows[] = {[PROP_QUICK] = MAIN_WINDOWS,
                                      [PROP_FULL] = 20 * MAIN_WINDOWS,
                                      [PROP_EXHAUSTIVE] = 20 * MAIN_WINDOWS + 257};
    int64_t more = s->level == PROP_QUICK ? 1 : 8;
    if (s->weight == PROP_MAIN)
        return 2 * PROP_CLUSTERS + windows[s->level] / (s->halved ? 2 : 1);
    return (s->weight == PROP_USUAL ? USUAL_CASES : LIGHT_CASES) * more;
}

int64_t prop_contract_count(const prop_subject *s)
{
    return count_positions(s) + prop_contract_calls_count(s);
}

/* A call of many tokens, and one of as many heads as models have: once each, on a spec of few
 * pairs, where a table of the window is small.
 */
static bool wide_case(const prop_subject *s, int64_t index)
{
    return index == count_positions(s) - 1 && s->frequencies->pairs <= 4;
}

static bool many_heads_case(const prop_subject *s, int64_t index)
{
    return index == count_positions(s) - 2 && s->frequencies->pairs <= 4;
}

/* A call of more tokens than a block, whose positions follow a pattern: once each, on every spec
 * but the main one. */
static bool block_case(const prop_subject *s, int64_t index)
{
    return s->weight != PROP_MAIN && index == count_positions(s) - 1 && !wide_case(s, index);
}

/* A window of consecutive positions in shuffled order. */
static void fill_window(prop_case *c, int64_t first)
{
    int64_t tokens = c->x.tokens, *p = prop_case_list(c, 0);
    for (int64_t t = 0; t < tokens; t++)
        for (uint32_t a = 0; a < c->axes; a++)
            p[t * c->axes + a] = first + (t * 197 + 31 * a) % tokens;
}

static bool generate_window(const prop_subject *s, int64_t index, uint64_t h, prop_case *c)
{
    /* One head and two in turn: most of a verification's time is spent here. */
    if (!prop_case_new(c, &prop_contract_property, s, WINDOW, 1 + index / 2 % 2, 1))
        return false;
    /* Stratified by magnitude from 2^9 to 2^24, so that few overlap. */
    int64_t strata = s->level == PROP_QUICK ? MAIN_WINDOWS : 20 * MAIN_WINDOWS;
    double step = (double)(index - 2 * PROP_CLUSTERS) + (double)(h >> 12) * 0x1p-52;
    int64_t first = (int64_t)exp2(9 + 15 * step / (double)strata);
    if (h & 1)
        first = -first;
    /* Exhaustive: 257 windows of 512 from -2^16 on. */
    int64_t beyond = index - (2 * PROP_CLUSTERS + 20 * MAIN_WINDOWS);
    if (beyond >= 0)
        first = -65536 + beyond * WINDOW;
    prop_case_arrange(s, c, h >> 40);
    fill_window(c, first);
    return true;
}

static bool generate_cluster(const prop_subject *s, int64_t index, uint64_t h, prop_case *c)
{
    int count = 3;
    bool random = (index / PROP_CLUSTERS) % 2 == 1 && s->weight != PROP_MAIN;
    const int64_t *cluster = NULL;
    if (!random)
        cluster = prop_cluster((int)(index % PROP_CLUSTERS), &count);
    /* Few heads in turn, whole blocks of them, and once in eight more than most blocks have. */
    static const int64_t heads[] = {1, 3, 2, 5, 1, 9, 8, 33};
    int64_t rows = many_heads_case(s, index) ? MANY_HEADS : heads[h >> 20 & 7];
    if (!prop_case_new(c, &prop_contract_property, s, count, rows, 1))
        return false;
    prop_case_arrange(s, c, (uint64_t)index);
    int64_t start = prop_random_position(h);
    for (int t = 0; t < count; t++)
        for (uint32_t a = 0; a < c->axes; a++) {
            /* Each axis has its own order, so that an exchange of axes shows. */
            int64_t p = random ? start + (int64_t)(h >> (8 * t) & 31)
                               : cluster[(t + (int)a) % count] + (int64_t)a * 7;
            prop_case_list(c, 0)[t * (int64_t)c->axes + a] = p;
        }
    return true;
}

/* More tokens than a block, over a window that 16 bits cannot index; every position of a window of
 * exactly a power of two; more tokens than a prompt's chunk of 8192. By size in turn, so that each
 * has its specs; the longer levels, 8 times the last two. */
static bool generate_wide(const prop_subject *s, uint64_t h, prop_case *c)
{
    static const struct {
        int64_t tokens, window;
    } calls[] = {{1537, 1 << 17}, {4096, 4096}, {8209, 8192}};
    int64_t which = s->spec->rotary_dim / 2 % 3, more = s->level == PROP_QUICK ? 1 : 8;
    int64_t window = calls[which].window * (which == 0 ? 1 : more);
    int64_t heads = which == 0 ? 2 : 1;
    if (!prop_case_new(c, &prop_contract_property, s, calls[which].tokens * more, heads, 1))
        return false;
    prop_case_arrange(s, c, h >> 40);
    int64_t *p = prop_case_list(c, 0);
    for (int64_t t = 0; t < c->x.tokens; t++)
        for (uint32_t a = 0; a < c->axes; a++)
            p[t * c->axes + a] = t == 0 ? 0 : t == 1 ? window - 1 : (t * 86243 + 29 * a) % window;
    return true;
}

/* What a kernel could take for something simpler by a look at a few tokens. One axis, by size in
 * turn: sequences packed one behind the other; blocks with the ends of consecutive ones; a step
 * forward, then back all the way; each position twice. More axes: text, an image, text. */
static int64_t block_position(const prop_subject *s, int64_t t, uint32_t axis)
{
    enum { TEXT = 5, COLUMNS = 6, IMAGE = 24 };
    if (s->frequencies->axis_count == 1)
        switch (s->spec->rotary_dim / 2 % 4) {
        case 0:
            return t < 11 ? t : t < 16 ? t - 11 : t - 16;
        case 1:
            return t % 4 == 1 ? t + 1 : t % 4 == 2 ? t - 1 : t;
        case 2:
            return t < 2 ? t : BLOCK_TOKENS - t;
        default:
            return t / 2;
        }
    if (t < TEXT)
        return t;
    if (t >= TEXT + IMAGE)
        return t - IMAGE + COLUMNS;
    int64_t place = t - TEXT, last = s->frequencies->axis_count - 1;
    return TEXT + (axis == last ? place % COLUMNS : axis + 1 == last ? place / COLUMNS : 0);
}

/* place: the same for both pairings, whose rows of the oracle are then the same. */
static bool generate_block(const prop_subject *s, uint64_t h, uint64_t place, prop_case *c)
{
    if (!prop_case_new(c, &prop_contract_property, s, BLOCK_TOKENS, 1 + (int64_t)(h >> 20 & 1), 1))
        return false;
    prop_case_arrange(s, c, h >> 40);
    int64_t start = prop_random_position(place);
    for (int64_t t = 0; t < BLOCK_TOKENS; t++)
        for (uint32_t a = 0; a < c->axes; a++)
            prop_case_list(c, 0)[t * c->axes + a] = start + block_position(s, t, a);
    return true;
}

bool prop_contract_generate(const prop_subject *s, int64_t index, prop_case *c)
{
    static const prop_data_kind kinds[] = {PROP_DATA_USUAL, PROP_DATA_CANCEL, PROP_DATA_WIDE,
                                           PROP_DATA_EDGE, PROP_DATA_SPECIAL};
    int64_t calls = index - count_positions(s);
    if (calls >= 0)
        return prop_contract_calls_generate(s, calls, c);
    bool window = s->weight == PROP_MAIN && index >= 2 * PROP_CLUSTERS;
    if (window && s->halved) /* every other one, so that both pairings together take them all */
        index = 2 * index - 2 * PROP_CLUSTERS + s->spec->pairing;
    uint64_t h = prop_hash(s->seed, (uint64_t)index, 1);
    /* A light spec starts elsewhere each time, so that together they cover all clusters. */
    int64_t start = s->weight == PROP_LIGHT ? s->spec->rotary_dim / 2 * 3 : 0;
    if (wide_case(s, index) || block_case(s, index)) {
        /* Apart by size and pairing: arrangement and heads follow; the place by size. */
        uint64_t place = prop_hash(h, (uint64_t)s->spec->rotary_dim, 2);
        h = prop_hash(h, (uint64_t)s->spec->rotary_dim, s->spec->pairing);
        if (!(wide_case(s, index) ? generate_wide(s, h, c) : generate_block(s, h, place, c)))
            return false;
        c->kind = PROP_DATA_USUAL;
        c->seed = h;
        return true;
    }
    if (!(window ? generate_window(s, index, h, c) : generate_cluster(s, index + start, h, c)))
        return false;
    c->kind = kinds[(uint64_t)index % (sizeof kinds / sizeof kinds[0])];
    if (window && c->kind > PROP_DATA_WIDE)
        c->kind = PROP_DATA_USUAL;
    c->seed = h;
    return true;
}

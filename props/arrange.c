/* How cases vary: buffers, strides, alignments and positions, in a fixed order, so that a few cases
 * cover every arrangement. */
#include <math.h>

#include "props/case.h"

void prop_case_arrange(const prop_subject *s, prop_case *c, uint64_t index)
{
    /* One line per arrangement: place, shift, gaps between tokens and heads, order; of x and of y.
     */
    static const struct {
        prop_shape x, y;
        bool in_place;
        int64_t position_gap;
    } plan[] = {
        {{.place = PROP_PLACE_END}, {.place = PROP_PLACE_START}, false, 0},
        {{.place = PROP_PLACE_START}, {.place = PROP_PLACE_END}, false, 1},
        {{.place = PROP_PLACE_END}, {.place = PROP_PLACE_END}, true, 0},
        {{.place = PROP_PLACE_ROWS}, {.place = PROP_PLACE_ROWS}, false, 61},
        {{.place = PROP_PLACE_END, .token_gap = 5, .head_gap = 3, .shift = 1},
         {.place = PROP_PLACE_START, .token_gap = 1, .head_gap = 7, .shift = 3},
         false,
         2},
        {{.place = PROP_PLACE_START, .token_gap = 3, .head_gap = 1, .shift = 1},
         {.place = PROP_PLACE_START},
         true,
         0},
        {{.place = PROP_PLACE_START, .heads_first = true},
         {.place = PROP_PLACE_END, .token_gap = 2},
         false,
         0},
        {{.place = PROP_PLACE_FAR_TOKENS}, {.place = PROP_PLACE_START}, false, 0},
        {{.place = PROP_PLACE_END}, {.place = PROP_PLACE_FAR_TOKENS}, false, 1027},
        {{.place = PROP_PLACE_ROWS}, {.place = PROP_PLACE_ROWS}, true, 0},
        {{.place = PROP_PLACE_FAR_HEADS}, {.place = PROP_PLACE_FAR_HEADS}, false, 0},
    };
    index %= sizeof plan / sizeof plan[0];
    /* Many rows, each between pages of its own, would be slow to map. */
    bool many = c->x.tokens * c->x.heads > 32;
    bool spaced = plan[index].x.place >= PROP_PLACE_ROWS || plan[index].y.place >= PROP_PLACE_ROWS;
    bool far = plan[index].x.place > PROP_PLACE_ROWS || plan[index].y.place > PROP_PLACE_ROWS;
    if ((many && spaced) || (far && !prop_arena_far_fits()))
        index = index % 2 == 0 ? 0 : 4;
    prop_shape size = {c->x.tokens, c->x.heads, c->x.head_dim, 0, 0, false, 0, 0};
    c->x = plan[index].x;
    c->y = plan[index].y;
    c->x.tokens = c->y.tokens = size.tokens;
    c->x.heads = c->y.heads = size.heads;
    c->x.head_dim = c->y.head_dim = size.head_dim;
    c->in_place =
        plan[index].in_place && s->kernel != NULL && (s->kernel->header.flags & ROPE_IN_PLACE);
    c->position_gap = plan[index].position_gap;
}

const int64_t *prop_cluster(int index, int *count)
{
    enum { LARGEST = 9 };
    static const int64_t positions[PROP_CLUSTERS][LARGEST] = {
        {0, 1, 2, 255, 256, 257, 258, 259, 0},
        {2049, 2047, 2050, 2048},
        {4096, 4095, 4097},
        {32767, 32768, 32769},
        {65504, 65520, 65535, 65536, 65537},
        {131071, 131072, 131073},
        {1048575, 1048576},
        {16777216, 16777215, 16777217},
        {-1, -2, -256, -257, -1},
        {-4096, -4097},
        {-65520, -65504},
        {-1048575},
        {-16777217, -16777215},
        {511, 512, 1023, 1024},
        {8192, 8191},
        {16384, 16383},
        {262144, 262143},
        {524288, 524287},
        {2097152, 2097151},
        {4194304, 4194303},
        {8388608, 8388607},
    };
    static const int counts[PROP_CLUSTERS] = {9, 4, 3, 3, 5, 3, 2, 3, 5, 2, 2,
                                              1, 2, 4, 2, 2, 2, 2, 2, 2, 2};
    *count = counts[index];
    return positions[index];
}

int64_t prop_random_position(uint64_t hash)
{
    double logarithm = (double)(hash >> 12) * 0x1p-52 * 24;
    int64_t magnitude = (int64_t)exp2(logarithm);
    return hash & 8 ? -magnitude : magnitude;
}

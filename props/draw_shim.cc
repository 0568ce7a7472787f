// GCC 12 takes RapidCheck's Maybe for uninitialised where it inlines; it is not.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "props/draw_shim.h"

#include <rapidcheck.h>

#include <vector>

namespace {

using rc::Gen;
namespace gen = rc::gen;

// Every count modulo 8, and 8 itself.
enum { MOST_TOKENS = 9, MOST_HEADS = 9, MOST_GAP = 9, MOST_SHIFT = 5, NEAR = 40 };

// place, shift, gap between tokens, gap between heads, heads first: shape_out's order (shrink.c).
Gen<std::vector<int64_t>> shape(const rapid_wish &w)
{
    return gen::map(gen::tuple(gen::inRange<int64_t>(0, w.places), gen::inRange<int64_t>(0, MOST_SHIFT),
                               gen::inRange<int64_t>(0, MOST_GAP), gen::inRange<int64_t>(0, MOST_GAP),
                               gen::inRange<int64_t>(0, 2)),
                    [](const std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t> &t) {
                        return std::vector<int64_t>{std::get<0>(t), std::get<1>(t), std::get<2>(t),
                                                    std::get<3>(t), std::get<4>(t)};
                    });
}

// Where the tokens of a case are: log-uniform in magnitude to 2^33, of either sign, and next to
// powers of two. Tokens are near to each other, since a kernel's table covers the window.
Gen<int64_t> start()
{
    auto magnitude = gen::mapcat(gen::inRange(0, 34), [](int exponent) {
        int64_t low = INT64_C(1) << exponent;
        return gen::weightedOneOf<int64_t>({{3, gen::inRange<int64_t>(low, 2 * low)},
                                            {1, gen::inRange<int64_t>(low - 2, low + 3)}});
    });
    return gen::weightedOneOf<int64_t>(
        {{1, gen::inRange<int64_t>(-NEAR, NEAR)},
         {2, magnitude},
         {2, gen::map(magnitude, [](int64_t position) { return -position; })}});
}

// Any finite pattern, the usual magnitudes, and the patterns that release code has got wrong; a
// case draws from one of the first three kinds, mixed with the rare ones.
uint64_t element(const rapid_wish &w, int kind, rc::Random &random)
{
    const uint64_t one = 1;
    const int exponent_bits = w.bits - 1 - w.significand;
    const uint64_t significand = (one << w.significand) - 1, sign = one << (w.bits - 1);
    const uint64_t infinity = ((one << exponent_bits) - 1) << w.significand;
    const uint64_t bias = (one << (exponent_bits - 1)) - 1;
    const uint64_t r = random.next(), which = random.next();
    uint64_t bits = r & (sign | significand);
    switch (kind == 2 ? which % 8 : which % 32 == 0 ? which / 32 % 8 : 8) {
    case 0: /* a zero */
        bits = r & sign;
        break;
    case 1: /* subnormal */
        break;
    case 2: /* the smallest */
        bits = (r & sign) | (1 + which / 256 % 3);
        break;
    case 3: /* the largest */
        bits = (r & sign) | (infinity - 1 - which / 256 % 3);
        break;
    case 4: /* infinity, and both kinds of NaN, seldom */
        bits = which / 256 % 4 != 0   ? (r & sign) | (bias << w.significand)
               : which / 1024 % 3 == 0 ? (r & sign) | infinity
                                       : bits | infinity | one;
        break;
    case 5: /* a power of two */
        bits = (r & sign) | (1 + which / 256 % (2 * bias)) << w.significand;
        break;
    case 6: /* any */
    case 7:
        bits |= which / 256 % (2 * bias + 1) << w.significand;
        break;
    default: /* usual, 2^-6..2^6; or any finite magnitude whose square is finite */
        bits |= (kind == 0 ? bias - 6 + which / 32 % 13 : bias / 2 + which / 32 % bias)
                << w.significand;
    }
    return bits;
}

template <typename T>
T drawn(const Gen<T> &generator, rc::Random &random)
{
    return generator(random.split(), rc::kNominalSize).value();
}

struct Drawn {
    std::vector<int64_t> positions;
    std::vector<rapid_element> elements;
    std::vector<rapid_token> tokens;
    rapid_case c;
};

void draw(const rapid_wish &w, uint64_t seed, Drawn &d)
{
    rc::Random random(seed);
    const auto x = drawn(shape(w), random), y = drawn(shape(w), random);
    const int64_t tokens = drawn(gen::inRange<int64_t>(1, MOST_TOKENS + 1), random);
    const int64_t heads = drawn(gen::inRange<int64_t>(1, MOST_HEADS + 1), random);
    const int64_t first = drawn(start(), random);
    const int kind = drawn(gen::inRange(0, 3), random);
    d.c = rapid_case{};
    for (size_t i = 0; i < x.size(); i++) {
        d.c.scalars[i] = x[i];
        d.c.scalars[i + x.size()] = y[i];
    }
    d.c.scalars[10] = drawn(gen::weightedOneOf<int64_t>({{2, gen::just<int64_t>(0)},
                                                         {1, gen::inRange<int64_t>(1, 200)}}),
                            random);
    // Drawn in any case: what follows does not depend on the kernel.
    const bool in_place = drawn(gen::inRange(0, 3), random) == 0;
    d.c.scalars[11] = w.in_place && in_place;
    d.c.heads = heads;
    d.c.positions_per_token = w.axes;
    d.c.tokens = tokens;
    for (int64_t i = 0; i < tokens * w.axes; i++)
        d.positions.push_back(first + drawn(gen::inRange<int64_t>(0, NEAR), random));
    // One source for all elements: to split it for each took a twentieth of a verification.
    const int64_t count = tokens * heads * w.head_dim;
    rc::Random source = random.split();
    d.elements.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; i++)
        d.elements.push_back(
            {i / w.head_dim % heads, i % w.head_dim, 0, element(w, kind, source)});
    for (int64_t t = 0; t < tokens; t++)
        d.tokens.push_back({d.positions.data() + t * w.axes,
                            d.elements.data() + t * heads * w.head_dim, heads * w.head_dim});
    d.c.token = d.tokens.data();
}

} // namespace

extern "C" bool rapid_draw(const rapid_wish *wish, uint64_t seed, rapid_take *take, void *context)
{
    try {
        Drawn d;
        draw(*wish, seed, d);
        take(&d.c, context);
        return true;
    } catch (...) {
        return false;
    }
}

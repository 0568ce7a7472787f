// GCC 12 takes RapidCheck's Maybe for uninitialised where it inlines findLocalMin; it is not.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "props/rapidcheck_shim.h"

#include <rapidcheck.h>
#include <rapidcheck/shrinkable/Operations.h>

#include <utility>
#include <vector>

namespace {

struct Token {
    std::vector<int64_t> positions;
    std::vector<rapid_element> elements;
};

struct Case {
    std::vector<int64_t> scalars;
    int64_t heads;
    int64_t positions_per_token;
    uint64_t one;
    std::vector<Token> tokens;
};

Case from_c(const rapid_case &c)
{
    Case result{{c.scalars, c.scalars + RAPID_SCALARS}, c.heads, c.positions_per_token, c.one, {}};
    for (int64_t t = 0; t < c.tokens; t++) {
        const rapid_token &token = c.token[t];
        result.tokens.push_back({{token.positions, token.positions + c.positions_per_token},
                                 {token.elements, token.elements + token.count}});
    }
    return result;
}

struct Enough {};

bool ask(const Case &c, rapid_judge *judge, void *context)
{
    std::vector<rapid_token> tokens;
    for (const Token &t : c.tokens)
        tokens.push_back(
            {t.positions.data(), t.elements.data(), static_cast<int64_t>(t.elements.size())});
    rapid_case flat{};
    for (int i = 0; i < RAPID_SCALARS; i++)
        flat.scalars[i] = c.scalars[static_cast<size_t>(i)];
    flat.heads = c.heads;
    flat.positions_per_token = c.positions_per_token;
    flat.one = c.one;
    flat.tokens = static_cast<int64_t>(tokens.size());
    flat.token = tokens.data();
    rapid_answer answer = judge(&flat, context);
    if (answer == RAPID_STOP)
        throw Enough();
    return answer == RAPID_FAILS;
}

// Fewer heads: elements of the heads that go go with them.
Case with_heads(Case c, int64_t heads)
{
    c.heads = heads;
    for (Token &t : c.tokens) {
        std::vector<rapid_element> kept;
        for (const rapid_element &e : t.elements)
            if (e.head < heads)
                kept.push_back(e);
        t.elements = kept;
    }
    return c;
}

rc::Seq<Case> fewer_tokens(const Case &c)
{
    return rc::seq::filter(rc::seq::map(rc::shrink::removeChunks(c.tokens),
                                        [c](std::vector<Token> &&tokens) {
                                            Case smaller = c;
                                            smaller.tokens = std::move(tokens);
                                            return smaller;
                                        }),
                           [](const Case &smaller) { return !smaller.tokens.empty(); });
}

rc::Seq<Case> fewer_heads(const Case &c)
{
    return rc::seq::map(rc::shrink::towards<int64_t>(c.heads, 1),
                        [c](int64_t heads) { return with_heads(c, heads); });
}

rc::Seq<Case> smaller_scalars(const Case &c)
{
    return rc::seq::map(
        rc::shrink::eachElement(c.scalars,
                                [](int64_t value) { return rc::shrink::towards<int64_t>(value, 0); }),
        [c](std::vector<int64_t> &&scalars) {
            Case smaller = c;
            smaller.scalars = std::move(scalars);
            return smaller;
        });
}

rc::Seq<Token> smaller_token(const Token &t, uint64_t one)
{
    auto fewer = rc::seq::map(rc::shrink::removeChunks(t.elements),
                              [t](std::vector<rapid_element> &&elements) {
                                  return Token{t.positions, std::move(elements)};
                              });
    auto nearer =
        rc::seq::map(rc::shrink::eachElement(t.positions,
                                             [](int64_t p) { return rc::shrink::integral<int64_t>(p); }),
                     [t](std::vector<int64_t> &&positions) {
                         return Token{std::move(positions), t.elements};
                     });
    // To 1; else a shorter significand is a simpler number: bits go from the low end.
    auto rounder = rc::seq::map(
        rc::shrink::eachElement(
            t.elements,
            [one](const rapid_element &e) {
                std::vector<rapid_element> simpler;
                if (e.bits != one)
                    simpler.push_back({e.head, e.element, e.stream, one});
                for (int low : {16, 8, 4, 1})
                    for (int clear = low; clear < 64 && e.bits != one; clear += low) {
                        uint64_t bits = e.bits >> clear << clear;
                        if (bits == e.bits)
                            continue;
                        if (bits != 0)
                            simpler.push_back({e.head, e.element, e.stream, bits});
                        break;
                    }
                return rc::seq::fromContainer(simpler);
            }),
        [t](std::vector<rapid_element> &&elements) {
            return Token{t.positions, std::move(elements)};
        });
    return rc::seq::concat(std::move(fewer), std::move(nearer), std::move(rounder));
}

rc::Seq<Case> smaller_tokens(const Case &c)
{
    return rc::seq::map(rc::shrink::eachElement(c.tokens, [one = c.one](const Token &t) { return smaller_token(t, one); }),
                        [c](std::vector<Token> &&tokens) {
                            Case smaller = c;
                            smaller.tokens = std::move(tokens);
                            return smaller;
                        });
}

rc::Seq<Case> smaller_cases(const Case &c)
{
    return rc::seq::concat(fewer_tokens(c), fewer_heads(c), smaller_tokens(c), smaller_scalars(c));
}

} // namespace

extern "C" bool rapid_shrink(const rapid_case *start, rapid_judge *judge, void *context)
{
    try {
        rc::shrinkable::findLocalMin(rc::shrinkable::shrinkRecur(from_c(*start), [](const Case &c) { return smaller_cases(c); }),
                                     [=](const Case &c) { return ask(c, judge, context); });
        return true;
    } catch (const Enough &) {
        return true;
    } catch (...) {
        return false;
    }
}

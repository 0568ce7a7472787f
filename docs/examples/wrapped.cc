// A plug-in around a C++ kernel: the class stays as it is, four functions with C linkage hand it over, and no exception leaves.
//   c++ -std=c++17 -O2 -shared -fPIC -I/usr/local/include/tightrope wrapped.cc -o wrapped.so
#include <cmath>
#include <cstring>
#include <new>
#include <vector>
#include "rope.h"

namespace {
class Rotator { // the C++ kernel: half pairing, f32 storage, f64 inside
public:
    explicit Rotator(const rope_plan_args &args)
        : first(args.first[0]), last(args.last[0]), pairs(args.pairs), dim(args.spec->head_dim), offset(args.spec->rotary_offset),
          factor(args.attention_factor), frequencies(args.frequency_hi, args.frequency_hi + args.pairs) {}
    bool covers(int64_t position) const { return position >= first && position <= last; }
    std::size_t bytes() const { return sizeof *this + frequencies.size() * sizeof(double); }
    void rotate(const float *x, float *y, int64_t position) const {
        if (x != y)
            std::memcpy(y, x, static_cast<std::size_t>(dim) * sizeof *y);
        for (int64_t i = 0; i < pairs; i++) {
            const double angle = static_cast<double>(position) * frequencies[static_cast<std::size_t>(i)];
            const double c = factor * std::cos(angle), s = factor * std::sin(angle);
            float &a = y[offset + i], &b = y[offset + pairs + i];
            const double u = a, v = b;
            a = static_cast<float>(u * c - v * s);
            b = static_cast<float>(u * s + v * c);
        }
    }
private:
    int64_t first, last, pairs, dim, offset;
    double factor;
    std::vector<double> frequencies;
};
const Rotator &rotator(const rope_plan *p) { return *reinterpret_cast<const Rotator *>(p); }
} // namespace

extern "C" {
static rope_status plan(const rope_plan_args *args, rope_plan **out) {
    if (args->size < sizeof *args || args->spec->size < sizeof *args->spec || args->flags != 0 || args->dtype != ROPE_F32 ||
        args->axis_count != 1)
        return ROPE_UNSUPPORTED;
    try {
        *out = reinterpret_cast<rope_plan *>(new Rotator(*args));
    } catch (const std::bad_alloc &) {
        return ROPE_NO_MEMORY;
    }
    return ROPE_OK;
}
static rope_status apply(const rope_plan *p, const rope_view *x, const rope_view *y, const int64_t *at, int64_t stride) {
    for (int64_t t = 0; t < x->tokens; t++)
        if (!rotator(p).covers(at[t * stride]))
            return ROPE_RANGE;
    for (int64_t t = 0; t < x->tokens; t++)
        for (int64_t h = 0; h < x->heads; h++)
            rotator(p).rotate(static_cast<const float *>(x->data) + t * x->token_stride + h * x->head_stride,
                              static_cast<float *>(y->data) + t * y->token_stride + h * y->head_stride, at[t * stride]);
    return ROPE_OK;
}
static void destroy(rope_plan *p) { delete reinterpret_cast<Rotator *>(p); }
static size_t plan_bytes(const rope_plan *p) { return rotator(p).bytes(); }
static double error_bound(const rope_plan_args *a, int64_t position, int64_t pair) {
    return 1 + 0x1p-20 + std::fabs(static_cast<double>(position)) * a->frequency_hi[pair] * 0x1p-27;
}
const rope_header *const *tightrope_kernels(uint32_t host_abi, size_t *count) {
    static const rope_kernel wrapped = {
        {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE}, "wrapped", "a C++ class behind the C interface",
        1u << ROPE_HALF, 1u << ROPE_F32, 0, {0, 0, 0, 0}, plan, apply, destroy, plan_bytes, error_bound};
    static const rope_header *const kernels[] = {&wrapped.header};
    *count = 1;
    return host_abi == ROPE_ABI ? kernels : nullptr;
}
}

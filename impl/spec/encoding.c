#include "impl/spec/encoding.h"

#include "impl/spec/triple.h"

bool rope_sinusoidal_frequencies(uint32_t layout, int64_t dim, double base, double *hi, double *lo)
{
    bool concatenated = layout == ROPE_LAYOUT_CONCAT;
    if (dim < (concatenated ? 4 : 2) || dim % 2 != 0 || dim > 1 << 24 ||
        !(base > 1 && base <= 0x1p256))
        return false;
    rope_triple_log2 log2_base = rope_triple_log2_of(rope_triple_of(base));
    for (int64_t i = 0; i < dim / 2; i++) {
        rope_triple w = concatenated ? rope_triple_power(log2_base, -i, dim / 2 - 1)
                                     : rope_triple_power(log2_base, -2 * i, dim);
        hi[i] = rope_triple_f64(w);
        lo[i] = rope_triple_f64(rope_triple_subtract(w, rope_triple_of(hi[i])));
    }
    return true;
}

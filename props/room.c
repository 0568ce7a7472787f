#include "props/room.h"

#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, HUGE_PAGE = 2 << 20, MARGIN = 2048, CANARY = 0xff /* NaN in every dtype */ };

bool prop_room_fit(prop_room *r, size_t bytes)
{
    if (r->bytes >= bytes)
        return true;
    if (r->base != NULL)
        munmap(r->base, r->total);
    *r = (prop_room){0};
    size_t whole = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    size_t total = whole + 2 * (size_t)HUGE_PAGE;
    void *base = mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (whole < bytes || total < whole || base == MAP_FAILED)
        return false;
    /* A page before at least; more than one after. */
    size_t before = HUGE_PAGE - (uintptr_t)base % HUGE_PAGE;
    unsigned char *data = (unsigned char *)base + before;
    if (mprotect(data, whole, PROT_READ | PROT_WRITE) != 0) {
        munmap(base, total);
        return false;
    }
    madvise(data, whole, MADV_HUGEPAGE); /* faster, and no matter if refused */
    *r = (prop_room){data, whole, base, total};
    return true;
}

void prop_room_lock(const prop_room *r, bool locked)
{
    mprotect(r->data, r->bytes, locked ? PROT_READ : PROT_READ | PROT_WRITE);
}

bool prop_tensor_lay(prop_tensor *a, prop_room *r, const prop_shape *shape, size_t element)
{
    *a = (prop_tensor){.shape = *shape, .element = element};
    a->span = (size_t)prop_shape_strides(shape, &a->token_stride, &a->head_stride) * element;
    size_t shift = (size_t)shape->shift * element;
    if (!prop_room_fit(r, a->span + shift + MARGIN))
        return false;
    unsigned char *start = r->data, *end = start + r->bytes;
    a->first = shape->place == PROP_PLACE_START ? start + shift : end - shift - a->span;
    a->low = a->first - start < MARGIN ? start : a->first - MARGIN;
    a->high = end - (a->first + a->span) < MARGIN ? end : a->first + a->span + MARGIN;
    memset(a->low, CANARY, (size_t)(a->high - a->low));
    return true;
}

unsigned char *prop_tensor_row(const prop_tensor *a, int64_t token, int64_t head)
{
    return a->first + (token * a->token_stride + head * a->head_stride) * (int64_t)a->element;
}

bool prop_tensor_packed(const prop_tensor *a)
{
    const prop_shape *s = &a->shape;
    return a->head_stride == s->head_dim && a->token_stride == s->heads * s->head_dim;
}

/* Whether all of it is CANARY; else *offset says where not. */
static bool untouched(const prop_tensor *a, const unsigned char *low, const unsigned char *high,
                      int64_t *offset)
{
    if (low == high || (*low == CANARY && memcmp(low, low + 1, (size_t)(high - low) - 1) == 0))
        return true;
    while (*low == CANARY)
        low++;
    int64_t distance = low - a->first, element = (int64_t)a->element;
    *offset = distance >= 0 ? distance / element : -((-distance + element - 1) / element);
    return false;
}

bool prop_tensor_clean(const prop_tensor *a, int64_t *offset)
{
    const prop_shape *s = &a->shape;
    if (!prop_tensor_packed(a)) {
        for (int64_t t = 0; t < s->tokens; t++)
            for (int64_t h = 0; h < s->heads; h++)
                memset(prop_tensor_row(a, t, h), CANARY, (size_t)s->head_dim * a->element);
        return untouched(a, a->low, a->high, offset);
    }
    return untouched(a, a->low, a->first, offset) &&
           untouched(a, a->first + a->span, a->high, offset);
}

#include "props/arena_area.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void area_unmap(area *a)
{
    for (int i = 0; i < 2; i++)
        if (a->base[i] != NULL)
            munmap(a->base[i], a->total);
    *a = (area){0};
}

/* One view: inaccessible as a whole, then every slot laid over it from the file. */
static void *map_view(const area *a, int file, int protection)
{
    unsigned char *base =
        mmap(NULL, a->total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    off_t offset = 0;
    for (int64_t o = 0; o < a->outer; o++)
        for (int64_t i = 0; i < a->inner; i++, offset += (off_t)a->bytes) {
            void *slot = base + AREA_PAGE + o * a->outer_stride + i * a->inner_stride;
            if (mmap(slot, a->bytes, protection, MAP_SHARED | MAP_FIXED, file, offset) ==
                MAP_FAILED) {
                munmap(base, a->total);
                return NULL;
            }
        }
    return base;
}

bool area_map(area *a, size_t bytes, int64_t outer, int64_t inner, int64_t outer_stride,
              int64_t inner_stride, bool read_only_view, rope_error *error)
{
    area_unmap(a);
    *a = (area){.bytes = bytes,
                .outer = outer,
                .inner = inner,
                .outer_stride = outer_stride,
                .inner_stride = inner_stride};
    a->total =
        (size_t)((outer - 1) * outer_stride + (inner - 1) * inner_stride) + bytes + 2 * AREA_PAGE;
    int file = memfd_create("tightrope", MFD_CLOEXEC);
    bool good = file >= 0 && ftruncate(file, (off_t)((size_t)(outer * inner) * bytes)) == 0;
    if (good)
        good = (a->base[0] = map_view(a, file, PROT_READ | PROT_WRITE)) != NULL;
    if (good && read_only_view)
        good = (a->base[1] = map_view(a, file, PROT_READ)) != NULL;
    int cause = errno;
    if (file >= 0)
        close(file);
    if (!good) {
        rope_fail(error, "cannot map %zu bytes between guard pages: %s", a->total, strerror(cause));
        area_unmap(a);
        return false;
    }
    a->writable = (unsigned char *)a->base[0] + AREA_PAGE;
    a->view = read_only_view ? (unsigned char *)a->base[1] + AREA_PAGE : a->writable;
    return true;
}

bool area_reservable(size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return false;
    munmap(base, bytes);
    return true;
}

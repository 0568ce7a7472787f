#include "props/dump.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "impl/registry.h"
#include "props/safetensors.h"

enum {
    MAX_POSITIONS = 1 << 24, /* of one list: 128 MiB; longer dumps are cut into several */
    MAX_ROW_BYTES = 16 << 20 /* one token of one tensor as f64: keeps a block within memory */
};

static const struct {
    const char *name, *long_name;
    prop_layout layout;
    int dimensions;
} layouts[] = {
    {"td", "tokens,d", PROP_LAYOUT_TD, 2},
    {"thd", "tokens,heads,d", PROP_LAYOUT_THD, 3},
    {"htd", "heads,tokens,d", PROP_LAYOUT_HTD, 3},
    {"bhtd", "batch,heads,tokens,d", PROP_LAYOUT_BHTD, 4},
    {"bthd", "batch,tokens,heads,d", PROP_LAYOUT_BTHD, 4},
};

bool prop_layout_parse(const char *text, prop_layout *layout, rope_error *error)
{
    char plain[64];
    size_t used = 0;
    for (const char *c = text; *c != '\0' && used < sizeof plain - 1; c++)
        if (strchr("[]() ", *c) == NULL)
            plain[used++] = (char)tolower((unsigned char)*c);
    plain[used] = '\0';
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (strcmp(plain, layouts[i].name) == 0 || strcmp(plain, layouts[i].long_name) == 0) {
            *layout = layouts[i].layout;
            return true;
        }
    return rope_fail(error,
                     "unknown layout '%.60s', expected td, thd, htd, bhtd or bthd "
                     "(b batch, t tokens, h heads, d elements)",
                     text);
}

/* ---- opening ---- */

static double from_f16(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double magnitude;
    if (exponent == 31)
        magnitude = (bits & 1023) ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = (bits & 1023) * 0x1p-24;
    else
        magnitude = ldexp((double)(1024 + (bits & 1023)), exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

/* Every f16 number; filled when a tensor is opened, so that threads only read it. */
static double f16[65536];

static void fill_f16(void)
{
    if (f16[1] == 0)
        for (uint32_t i = 0; i < 65536; i++)
            f16[i] = from_f16((uint16_t)i);
}

static bool open_tensor(const char *path, prop_tensor *tensor, rope_error *error)
{
    static const char suffix[] = ".safetensors";
    const char *end = strstr(path, suffix);
    for (const char *next = end; next != NULL; next = strstr(next + 1, suffix))
        end = next;
    const char *rest = end != NULL ? end + sizeof suffix - 1 : NULL;
    if (rest != NULL && (*rest == '\0' || *rest == ':')) {
        char *file = strndup(path, (size_t)(rest - path));
        if (file == NULL)
            return rope_fail(error, "out of memory");
        bool good = safetensors_open(file, *rest == ':' ? rest + 1 : NULL, &tensor->array, error);
        free(file);
        if (!good)
            return false;
    } else if (!npy_open(path, &tensor->array, error)) {
        tensor->array = (npy_array){0};
        return false;
    }
    switch (tensor->array.type) {
    case NPY_F32:
        tensor->dtype = ROPE_F32;
        return true;
    case NPY_F64:
        tensor->dtype = ROPE_F64;
        return true;
    case NPY_F16:
        fill_f16();
        tensor->dtype = ROPE_F16;
        return true;
    case NPY_BF16:
    case NPY_U16:
        tensor->dtype = ROPE_BF16;
        return true;
    default:
        return rope_fail(error, "%s: holds integers, expected f32, f64, f16 or bf16 (as uint16)",
                         tensor->array.path);
    }
}

static prop_layout resolve(prop_layout layout, const npy_array *array)
{
    if (layout != PROP_LAYOUT_DEFAULT)
        return layout;
    switch (array->dimensions) {
    case 2:
        return PROP_LAYOUT_TD;
    case 4:
        return PROP_LAYOUT_BHTD;
    default:
        return PROP_LAYOUT_THD;
    }
}

/* Extents in the order batch, tokens in a batch, heads, d; strides into the tensor. */
static bool lay_out(prop_tensor *tensor, prop_layout layout, int64_t extent[4], rope_error *error)
{
    const npy_array *a = &tensor->array;
    const char *axes = NULL;
    int dimensions = 0;
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].layout == layout) {
            axes = layouts[i].name;
            dimensions = layouts[i].dimensions;
        }
    if (a->dimensions != dimensions)
        return rope_fail(error, "%s: %d dimensions, but the layout %s has %d", a->path,
                         a->dimensions, axes, dimensions);
    int64_t stride[4] = {0};
    for (int i = 0; i < 4; i++)
        extent[i] = 1;
    int64_t step = 1;
    for (int i = 0; i < dimensions; i++) {
        int d = a->fortran_order ? i : dimensions - 1 - i;
        int axis = (int)(strchr("bthd", axes[d]) - "bthd");
        extent[axis] = a->shape[d];
        stride[axis] = step;
        step *= a->shape[d]; /* at most count, which npy_open has checked against the file */
    }
    tensor->batch_stride = stride[0];
    tensor->token_stride = stride[1];
    tensor->head_stride = stride[2];
    tensor->element_stride = stride[3];
    return true;
}

static bool shapes(prop_dump *dump, prop_layout layout, rope_error *error)
{
    const npy_array *x = &dump->x.array, *y = &dump->y.array;
    bool same = x->dimensions == y->dimensions;
    for (int i = 0; same && i < x->dimensions; i++)
        same = x->shape[i] == y->shape[i];
    if (!same)
        return rope_fail(error, "%s and %s have different shapes", x->path, y->path);
    if (x->count <= 0)
        return rope_fail(error, "%s: holds no element", x->path);
    int64_t extent[4];
    layout = resolve(layout, x);
    if (!lay_out(&dump->x, layout, extent, error) || !lay_out(&dump->y, layout, extent, error))
        return false;
    dump->batches = extent[0];
    dump->tokens = extent[0] * extent[1];
    dump->heads = extent[2];
    dump->head_dim = extent[3];
    if (dump->heads > MAX_ROW_BYTES / (int64_t)sizeof(double) / dump->head_dim)
        return rope_fail(error, "%s: a token of %lld heads of %lld elements, expected at most %d",
                         x->path, (long long)dump->heads, (long long)dump->head_dim,
                         MAX_ROW_BYTES / (int)sizeof(double));
    return true;
}

static bool take_positions(prop_dump *dump, const char *text, rope_error *error)
{
    if (text == NULL)
        return true;
    if (!rope_positions_parse(text, MAX_POSITIONS, &dump->positions, error)) {
        dump->positions = (rope_positions){0};
        return false;
    }
    int64_t in_batch = dump->tokens / dump->batches;
    if (dump->positions.tokens != dump->tokens && dump->positions.tokens != in_batch)
        return rope_fail(error, "%lld positions for %lld tokens", (long long)dump->positions.tokens,
                         (long long)in_batch);
    dump->positions_per_batch = dump->positions.tokens != dump->tokens;
    return true;
}

bool prop_dump_open(const char *input, const char *output, const char *positions,
                    prop_layout layout, prop_dump *dump, rope_error *error)
{
    *dump = (prop_dump){0};
    if (open_tensor(input, &dump->x, error) && open_tensor(output, &dump->y, error) &&
        shapes(dump, layout, error) && take_positions(dump, positions, error))
        return true;
    prop_dump_close(dump);
    return false;
}

static void close_tensor(prop_tensor *tensor)
{
    if (tensor->array.file != NULL)
        npy_close(&tensor->array);
    free(tensor->raw);
    *tensor = (prop_tensor){0};
}

void prop_dump_close(prop_dump *dump)
{
    close_tensor(&dump->x);
    close_tensor(&dump->y);
    if (dump->positions.values != NULL)
        rope_positions_free(&dump->positions);
    *dump = (prop_dump){0};
}

int64_t prop_dump_position(const prop_dump *dump, int64_t token, uint32_t axis)
{
    const rope_positions *p = &dump->positions;
    if (dump->positions_per_batch)
        token %= p->tokens;
    return p->values[token * p->axes + (axis < p->axes ? axis : 0)];
}

/* ---- reading ---- */

/* Widens count elements, `from` apart in data, to elements `to` apart in out. */
static void widen(uint32_t dtype, const void *data, int64_t from, int64_t count, double *out,
                  int64_t to)
{
    switch (dtype) {
    case ROPE_F32:
        for (int64_t i = 0; i < count; i++) {
            float value;
            memcpy(&value, (const char *)data + 4 * i * from, 4);
            out[i * to] = (double)value;
        }
        break;
    case ROPE_F64:
        for (int64_t i = 0; i < count; i++)
            memcpy(&out[i * to], (const char *)data + 8 * i * from, 8);
        break;
    case ROPE_BF16:
        for (int64_t i = 0; i < count; i++) {
            uint16_t half;
            memcpy(&half, (const char *)data + 2 * i * from, 2);
            uint32_t bits = (uint32_t)half << 16;
            float value;
            memcpy(&value, &bits, 4);
            out[i * to] = (double)value;
        }
        break;
    default:
        for (int64_t i = 0; i < count; i++) {
            uint16_t half;
            memcpy(&half, (const char *)data + 2 * i * from, 2);
            out[i * to] = f16[half];
        }
    }
}

static bool fetch(prop_tensor *tensor, int64_t first, int64_t count, rope_error *error)
{
    size_t bytes = tensor->array.element_bytes;
    if (count > tensor->raw_elements) {
        free(tensor->raw);
        tensor->raw = malloc((size_t)count * bytes);
        tensor->raw_elements = tensor->raw != NULL ? count : 0;
        if (tensor->raw == NULL)
            return rope_fail(error, "out of memory for a block of %s", tensor->array.path);
    }
    size_t done = 0, wanted = (size_t)count * bytes;
    off_t offset = (off_t)(tensor->array.data_offset + first * (int64_t)bytes);
    while (done < wanted) {
        ssize_t got = pread(fileno(tensor->array.file), (char *)tensor->raw + done, wanted - done,
                            offset + (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return rope_fail(error, "cannot read %s: %s", tensor->array.path,
                             got == 0 ? "it became shorter" : strerror(errno));
        done += (size_t)got;
    }
    return true;
}

typedef struct {
    int64_t extent, from, to; /* from: stride in the file; to: stride in the block */
} dimension;

/* A run along one dimension, read in pieces that span at most SPAN elements of the file: its stride
 * there is 1 but in a Fortran array of several batches. */
static bool read_run(prop_tensor *t, const dimension *run, int64_t start, double *out,
                     rope_error *error)
{
    enum { SPAN = 1 << 20 };
    int64_t from = run->extent > 1 ? run->from : 1, most = SPAN / from + 1;
    for (int64_t i = 0; i < run->extent; i += most) {
        int64_t count = run->extent - i < most ? run->extent - i : most;
        if (!fetch(t, start + i * from, (count - 1) * from + 1, error))
            return false;
        widen(t->dtype, t->raw, from, count, out + i * run->to, run->to);
    }
    return true;
}

/* Tokens of one batch, from element `start` of the file on. The dimension of the smallest stride is
 * read in runs, the two others are walked; [tokens, heads, d] is one run, [heads, tokens, d] one
 * for each head. */
static bool read_batch(prop_tensor *t, int64_t heads, int64_t d, int64_t start, int64_t count,
                       double *out, rope_error *error)
{
    dimension all[3] = {
        {d, t->element_stride, 1}, {count, t->token_stride, heads * d}, {heads, t->head_stride, d}};
    dimension run = all[0], outer[3] = {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}};
    int outers = 0;
    for (int i = 1; i < 3; i++) { /* a dimension of extent 1 may carry any stride */
        if (all[i].extent > 1 && (run.extent == 1 || all[i].from < run.from)) {
            outer[outers++] = run;
            run = all[i];
        } else {
            outer[outers++] = all[i];
        }
    }
    if (t->element_stride == 1 && (heads == 1 || t->head_stride == d) &&
        (count == 1 || t->token_stride == heads * d))
        return read_run(t, &(dimension){count * heads * d, 1, 1}, start, out, error);
    for (int64_t i = 0; i < outer[0].extent; i++)
        for (int64_t j = 0; j < outer[1].extent; j++)
            if (!read_run(t, &run, start + i * outer[0].from + j * outer[1].from,
                          out + i * outer[0].to + j * outer[1].to, error))
                return false;
    return true;
}

static bool read_tensor(const prop_dump *dump, prop_tensor *t, int64_t first, int64_t count,
                        double *out, rope_error *error)
{
    int64_t in_batch = dump->tokens / dump->batches;
    while (count > 0) {
        int64_t batch = first / in_batch, token = first % in_batch;
        int64_t here = count < in_batch - token ? count : in_batch - token;
        if (!read_batch(t, dump->heads, dump->head_dim,
                        batch * t->batch_stride + token * t->token_stride, here, out, error))
            return false;
        out += here * dump->heads * dump->head_dim;
        first += here;
        count -= here;
    }
    return true;
}

bool prop_dump_read(prop_dump *dump, int64_t first, int64_t count, double *x, double *y,
                    rope_error *error)
{
    return (x == NULL || read_tensor(dump, &dump->x, first, count, x, error)) &&
           (y == NULL || read_tensor(dump, &dump->y, first, count, y, error));
}

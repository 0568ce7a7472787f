#include "props/dump.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

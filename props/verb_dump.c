/* `tightrope dump`: what a kernel or a mutant makes of an input, as .npy, for check, identify and
 * other tools. */
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "impl/spec/positions.h"
#include "impl/spec/spec.h"
#include "props/dump.h"
#include "props/isolate.h"
#include "props/mutants.h"
#include "props/verify_plugins.h"
#include "scripts/front/verbs.h"

/* Tokens of one plan lie within this many positions: a table over all of them would be too large.
 */
enum { WINDOW = 1 << 16 };

typedef struct {
    const rope_kernel *kernel;
    const rope_spec *spec;
    rope_frequencies frequencies;
    uint32_t dtype;
    size_t element_bytes;
    int64_t batches, tokens, heads; /* tokens of one batch */
    int64_t batch_stride, token_stride, head_stride;
    const int64_t *position; /* [tokens][axes] */
    uint32_t axes;
    const char *x;
    char *y; /* shared with the child */
    rope_status status;
} job;

typedef struct {
    const char *kernel, *spec, *positions, *input, *output, *layout;
    front_values plugins;
} arguments;

/* Tokens from `first` on whose positions stay within one window, on every axis. */
static int64_t cluster(const job *j, int64_t first, int64_t *low, int64_t *high)
{
    int64_t count = 0;
    *low = *high = j->position[first * j->axes];
    for (int64_t t = first; t < j->tokens; t++, count++) {
        int64_t least = *low, most = *high;
        for (uint32_t a = 0; a < j->axes; a++) {
            int64_t p = j->position[t * j->axes + a];
            least = p < least ? p : least;
            most = p > most ? p : most;
        }
        if (count > 0 && (uint64_t)most - (uint64_t)least >= WINDOW)
            break;
        *low = least;
        *high = most;
    }
    return count;
}

static int rotate(void *context)
{
    job *j = context;
    for (int64_t t = 0, count; t < j->tokens; t += count) {
        int64_t low, high;
        count = cluster(j, t, &low, &high);
        rope_plan_args args =
            rope_spec_plan_args(j->spec, &j->frequencies, (rope_dtype)j->dtype, low, high);
        rope_plan *plan = NULL;
        rope_status status = j->kernel->plan(&args, &plan);
        for (int64_t b = 0; b < j->batches && status == ROPE_OK; b++) {
            size_t offset = (size_t)(b * j->batch_stride + t * j->token_stride) * j->element_bytes;
            /* apply does not write x; a view has no const of its own */
            rope_view x = {(void *)(uintptr_t)(j->x + offset), count, j->heads, j->token_stride,
                           j->head_stride};
            rope_view y = {j->y + offset, count, j->heads, j->token_stride, j->head_stride};
            status = j->kernel->apply(plan, &x, &y, j->position + t * j->axes, j->axes);
        }
        if (plan != NULL)
            j->kernel->destroy(plan);
        if (status != ROPE_OK)
            return (int)status;
    }
    return 0;
}

/* A plug-in's kernel comes before one of ours with its name, as in verify. */
static const rope_kernel *find_kernel(const char *name, const prop_plugins *plugins,
                                      rope_error *error)
{
    const rope_plugin *from;
    const rope_header *header = rope_plugins_find(plugins->items, plugins->count, name, &from);
    if (header != NULL && header->kind == ROPE_ROTATION)
        return (const rope_kernel *)header;
    if (header != NULL) {
        rope_fail(error, "kernel '%s' of %s does not rotate, dump takes rotations", name,
                  from->path);
        return NULL;
    }
    const rope_kernel *kernel = rope_registry_find(name);
    const prop_mutant *mutant = kernel == NULL ? prop_mutant_find(name) : NULL;
    if (mutant != NULL)
        kernel = mutant->kernel;
    if (kernel == NULL && mutant != NULL)
        rope_fail(error, "mutant '%s' has no rotation to dump%s%s", name,
                  mutant->waits_for ? ", it waits for " : "",
                  mutant->waits_for ? mutant->waits_for : "");
    else if (kernel == NULL)
        rope_fail(error,
                  "unknown kernel '%s', expected one of `tightrope list kernels%s` or `list "
                  "mutants`",
                  name, plugins->count > 0 ? plugins->words : "");
    return kernel;
}

/* Shape by layout, and strides of a C-order array. */
static bool lay_out(job *j, const npy_array *a, prop_layout layout, rope_error *error)
{
    if (a->fortran_order && a->dimensions > 1)
        return rope_fail(error, "%s: Fortran order, dump takes C order", a->path);
    if (layout == PROP_LAYOUT_DEFAULT)
        layout = a->dimensions == 2   ? PROP_LAYOUT_TD
                 : a->dimensions == 4 ? PROP_LAYOUT_BHTD
                                      : PROP_LAYOUT_THD;
    static const char *const axes[] = {"", "td", "thd", "htd", "bhtd", "bthd"};
    const char *names = axes[layout];
    if (a->dimensions != (int)strlen(names))
        return rope_fail(error, "%s: %d dimensions, but the layout %s has %zu", a->path,
                         a->dimensions, names, strlen(names));
    int64_t extent[4] = {1, 1, 1, 1}, stride[4] = {0}, step = 1;
    for (int i = a->dimensions - 1; i >= 0; i--) {
        int axis = (int)(strchr("bthd", names[i]) - "bthd");
        extent[axis] = a->shape[i];
        stride[axis] = step;
        step *= a->shape[i];
    }
    if (extent[3] != j->spec->head_dim)
        return rope_fail(error, "%s: rows of %lld elements, but the spec's head_dim is %lld",
                         a->path, (long long)extent[3], (long long)j->spec->head_dim);
    j->batches = extent[0];
    j->tokens = extent[1];
    j->heads = extent[2];
    j->batch_stride = stride[0];
    j->token_stride = stride[1];
    j->head_stride = extent[2] > 1 ? stride[2] : extent[3];
    return true;
}

static bool take_dtype(job *j, const npy_array *a, rope_error *error)
{
    static const int dtypes[] = {[NPY_F32] = ROPE_F32,
                                 [NPY_F64] = ROPE_F64,
                                 [NPY_F16] = ROPE_F16,
                                 [NPY_BF16] = ROPE_BF16,
                                 [NPY_U16] = ROPE_BF16};
    if (a->type > NPY_U16)
        return rope_fail(error, "%s: holds integers, expected f32, f64, f16 or bf16", a->path);
    j->dtype = (uint32_t)dtypes[a->type];
    j->element_bytes = a->element_bytes;
    if (!(j->kernel->dtypes & 1u << j->dtype) || !(j->kernel->pairings & 1u << j->spec->pairing))
        return rope_fail(error, "kernel '%s' does not take %s with %s pairs", j->kernel->name,
                         rope_dtype_name(j->dtype), rope_pairing_name(j->spec->pairing));
    if (j->kernel->cpu_features & ~rope_cpu_features())
        return rope_fail(error, "kernel '%s' needs features that this machine lacks",
                         j->kernel->name);
    return true;
}

static bool take_positions(job *j, const char *text, int64_t **values, rope_error *error)
{
    rope_positions p;
    if (!rope_positions_parse(text, 1 << 24, &p, error))
        return false;
    j->axes = j->frequencies.axis_count;
    bool good = p.tokens == j->tokens && (p.axes == 1 || p.axes == j->axes);
    if (!good)
        rope_fail(error, "%lld positions of %u axes for %lld tokens of %u axes",
                  (long long)p.tokens, p.axes, (long long)j->tokens, j->axes);
    *values = good ? malloc((size_t)(j->tokens * j->axes) * sizeof **values) : NULL;
    if (good && *values == NULL)
        good = rope_fail(error, "out of memory");
    for (int64_t t = 0; good && t < j->tokens; t++)
        for (uint32_t a = 0; a < j->axes; a++)
            (*values)[t * j->axes + a] = p.values[t * p.axes + (p.axes > 1 ? a : 0)];
    j->position = *values;
    rope_positions_free(&p);
    return good;
}

static bool run_isolated(job *j, rope_error *error)
{
    prop_end end;
    prop_limits limits = prop_limits_default();
    /* Rotating takes well below 100 ns an element; a plan of a window, seconds. */
    double elements =
        (double)j->batches * (double)j->tokens * (double)j->heads * (double)j->spec->head_dim;
    limits.cpu_seconds = 10 + 1e-6 * elements;
    limits.wall_seconds = 10 * limits.cpu_seconds;
    limits.memory_bytes = 0;
    if (!prop_isolate(rotate, j, &limits, &end, error))
        return false;
    if (end.outcome != PROP_FINISHED) {
        char text[160];
        prop_end_text(&end, text, sizeof text);
        return rope_fail(error, "kernel '%s' ended early: %s", j->kernel->name, text);
    }
    static const char *const words[] = {"", "does not take these arguments",
                                        "says that a position is out of range", "is out of memory",
                                        "says that its arguments contradict each other"};
    if (end.status != 0)
        return rope_fail(error, "kernel '%s' %s", j->kernel->name,
                         end.status < 5 ? words[end.status] : "failed");
    return true;
}

static bool dump_one(const arguments *a, job *j, rope_error *error)
{
    prop_layout layout = PROP_LAYOUT_DEFAULT;
    npy_array array;
    int64_t *positions = NULL;
    if (a->layout != NULL && !prop_layout_parse(a->layout, &layout, error))
        return false;
    if (!npy_open(a->input, &array, error))
        return false;
    bool good = array.count > 0 || rope_fail(error, "%s: holds no element", array.path);
    good = good && take_dtype(j, &array, error) && lay_out(j, &array, layout, error) &&
           rope_spec_resolve(j->spec, ROPE_TRUTH_EXACT, &j->frequencies, error);
    good = good && take_positions(j, a->positions, &positions, error);
    size_t bytes = good ? (size_t)array.count * array.element_bytes : 0;
    char *x = good ? malloc(bytes) : NULL;
    j->x = x;
    j->y = good ? prop_share(bytes) : NULL;
    if (good && (x == NULL || j->y == NULL))
        good = rope_fail(error, "out of memory for %zu bytes", bytes);
    good = good && npy_read(&array, 0, array.count, x, error) && run_isolated(j, error) &&
           npy_write(a->output, array.type, array.dimensions, array.shape, j->y, error);
    if (j->y != NULL)
        prop_unshare(j->y, bytes);
    free(x);
    free(positions);
    rope_frequencies_free(&j->frequencies);
    npy_close(&array);
    return good;
}

static int dump(const arguments *a)
{
    rope_error error;
    rope_spec spec;
    prop_plugins plugins = {0};
    job j = {.spec = &spec};
    bool good = prop_plugins_load(&a->plugins, &plugins, &error) &&
                (j.kernel = find_kernel(a->kernel, &plugins, &error)) != NULL &&
                rope_spec_parse(a->spec, &spec, &error);
    if (good) {
        prop_plugins_text(&plugins, stderr); /* told, not judged: this verb makes data */
        good = dump_one(a, &j, &error);
        rope_spec_free(&spec);
    }
    prop_plugins_free(&plugins);
    return good ? FRONT_HOLDS : front_usage("dump", "%s", error.text);
}

int verb_dump(int argc, char **argv)
{
    arguments a = {0};
    const front_option options[] = {
        {.name = "kernel", .argument = "K", .help = "a kernel or a mutant", .value = &a.kernel},
        {.name = "plugin",
         .argument = "F.so",
         .help = "K may be one of a shared object's; may be repeated",
         .values = &a.plugins},
        {.name = "spec",
         .argument = "S",
         .help = "preset, config.json or key=value,...",
         .value = &a.spec},
        {.name = "positions",
         .argument = "P",
         .help = "a:b, a:b:step, a comma list, or a .npy",
         .value = &a.positions},
        {.name = "input",
         .argument = "X.npy",
         .help = "f32, f64, f16, or bf16 as uint16",
         .value = &a.input},
        {.name = "output",
         .argument = "Y.npy",
         .help = "written whole or not at all",
         .value = &a.output},
        {.name = "layout",
         .argument = "L",
         .help = "td, thd, htd, bhtd or bthd; default by the number of dimensions: td, thd, bhtd",
         .value = &a.layout},
        {0}};
    int status = front_parse(
        argc, argv,
        "dump --kernel K --spec S --positions P --input X.npy --output Y.npy [--layout L] "
        "[--plugin F.so]",
        "Writes what a kernel or a mutant makes of an input, in the input's dtype and layout.",
        options, NULL);
    if (status != -1)
        return status;
    const char *missing = !a.kernel      ? "--kernel"
                          : !a.spec      ? "--spec"
                          : !a.positions ? "--positions"
                          : !a.input     ? "--input"
                          : !a.output    ? "--output"
                                         : NULL;
    if (missing != NULL)
        return front_usage("dump", "%s is missing, see `tightrope dump --help`", missing);
    return dump(&a);
}

#include "props/dump_options.h"

#include <string.h>

#include "props/explain.h"

void prop_dump_options(prop_dump_arguments *a, const prop_dump_helps *helps, front_option *options)
{
    const front_option all[PROP_DUMP_OPTIONS] = {
        {.name = "input",
         .argument = "X",
         .help = "what the kernel was given: .npy, or "
                 ".safetensors:TENSOR; f32, f64, f16 or bf16",
         .value = &a->input},
        {.name = "output", .argument = "Y", .help = "what it returned", .value = &a->output},
        {.name = "positions", .argument = "P", .help = helps->positions, .value = &a->positions},
        {.name = "spec", .argument = "S", .help = helps->spec, .value = &a->spec},
        {.name = "layout",
         .argument = "L",
         .help = "td, thd, htd, bhtd or bthd; default by the number of dimensions: td, thd, bhtd",
         .value = &a->layout},
        {.name = "angle", .argument = "any|f64", .help = helps->angle, .value = &a->angle},
        {.name = "input-k", .argument = "XK", .help = helps->input_k, .value = &a->input_k},
        {.name = "output-k", .argument = "YK", .help = "", .value = &a->output_k},
        {.name = "csv", .argument = "[FILE]", .help = helps->csv, .value = &a->csv},
    };
    memcpy(options, all, sizeof all);
}

int prop_dump_arguments_check(const char *verb, const prop_dump_arguments *a)
{
    if (a->input == NULL || a->output == NULL)
        return front_usage(verb, "%s is missing, see `tightrope %s --help`",
                           a->input == NULL ? "--input" : "--output", verb);
    if ((a->input_k == NULL) != (a->output_k == NULL))
        return front_usage(verb, "--input-k and --output-k go together");
    return -1;
}

bool prop_dump_arguments_open(const prop_dump_arguments *a, bool k, prop_dump *dump,
                              uint32_t *angles, rope_error *error)
{
    prop_layout layout = PROP_LAYOUT_DEFAULT;
    *angles = (1u << PROP_ANGLES) - 1;
    if (a->angle != NULL && strcmp(a->angle, "f64") == 0)
        *angles = 1u << PROP_ANGLE_EXACT;
    else if (a->angle != NULL && strcmp(a->angle, "any") != 0)
        return rope_fail(error, "--angle '%s', expected any or f64", a->angle);
    if (a->layout != NULL && !prop_layout_parse(a->layout, &layout, error))
        return false;
    return prop_dump_open(k ? a->input_k : a->input, k ? a->output_k : a->output, a->positions,
                          layout, dump, error);
}

bool prop_dump_csv_to_stdout(const prop_dump_arguments *a)
{
    return a->csv != NULL && (*a->csv == '\0' || strcmp(a->csv, "-") == 0);
}

static void print_argument(FILE *file, const char *option, const char *value)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=.,:/@%";
    if (value == NULL)
        return;
    fprintf(file, " --%s ", option);
    if (*value != '\0' && value[strspn(value, plain)] == '\0') {
        fputs(value, file);
        return;
    }
    fputc('\'', file);
    for (; *value != '\0'; value++)
        if (*value == '\'')
            fputs("'\\''", file);
        else
            fputc(*value, file);
    fputc('\'', file);
}

void prop_dump_arguments_print(FILE *file, const char *verb, const prop_dump_arguments *a)
{
    fprintf(file, "tightrope %s", verb);
    print_argument(file, "input", a->input);
    print_argument(file, "output", a->output);
    print_argument(file, "positions", a->positions);
    print_argument(file, "spec", a->spec);
    print_argument(file, "layout", a->layout);
    print_argument(file, "angle", a->angle);
    print_argument(file, "input-k", a->input_k);
    print_argument(file, "output-k", a->output_k);
}

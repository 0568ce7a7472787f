#include "scripts/front/front.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int complain(const char *verb, const char *format, va_list arguments, int status)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    fprintf(stderr, verb ? "tightrope %s: %s\n" : "tightrope: %s%s\n", verb ? verb : text,
            verb ? text : "");
    return status;
}

int front_usage(const char *verb, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int status = complain(verb, format, arguments, FRONT_USAGE);
    va_end(arguments);
    return status;
}

int front_missing(const char *verb, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int status = complain(verb, format, arguments, FRONT_MISSING);
    va_end(arguments);
    return status;
}

static int print_option_help(const char *synopsis, const char *description,
                             const front_option *options)
{
    printf("usage: tightrope %s\n\n%s\n\n", synopsis, description);
    for (const front_option *o = options; o->name != NULL; o++) {
        char left[64];
        if (o->argument == NULL)
            snprintf(left, sizeof left, "--%s", o->name);
        else if (o->argument[0] == '[')
            snprintf(left, sizeof left, "--%s[=%.*s]", o->name, (int)strlen(o->argument) - 2,
                     o->argument + 1);
        else
            snprintf(left, sizeof left, "--%s %s", o->name, o->argument);
        printf("  %-24s %s\n", left, o->help);
    }
    printf("  %-24s %s\n", "--help, -h", "this text");
    return FRONT_HOLDS;
}

/* Values live as long as the process: a verb reads them to its end. */
typedef struct kept {
    struct kept *next;
    const char *items[];
} kept_values;

static kept_values *kept;

static void free_kept(void)
{
    for (kept_values *next; kept != NULL; kept = next) {
        next = kept->next;
        free(kept);
    }
}

/* False when memory is out. most: of values that may come. */
static bool append(front_values *values, const char *item, int most)
{
    if (values->count == 0) {
        kept_values *list = malloc(sizeof *list + (size_t)most * sizeof *list->items);
        if (list == NULL || (kept == NULL && atexit(free_kept) != 0)) {
            free(list);
            return false;
        }
        list->next = kept;
        kept = list;
        values->items = list->items;
    }
    values->items[values->count++] = item;
    return true;
}

static int take(const char *verb, const front_option *option, const char *argument, bool seen,
                int most)
{
    /* No option has use for an empty value: what comes of it is a script's unset variable. */
    if (argument != NULL && *argument == '\0')
        return front_usage(verb, "--%s has an empty value, expected %s", option->name,
                           option->argument);
    if (option->values != NULL)
        return append(option->values, argument, most) ? -1 : front_usage(verb, "out of memory");
    if (seen)
        return front_usage(verb, "--%s given twice, expected once", option->name);
    if (option->flag != NULL)
        *option->flag = true;
    if (option->value != NULL)
        *option->value = argument != NULL ? argument : "";
    return -1;
}

static int take_operand(const char *verb, front_values *operands, const char *word, int most)
{
    if (*word == '\0')
        return front_usage(verb, "empty argument '', see `tightrope %s --help`", verb);
    return append(operands, word, most) ? -1 : front_usage(verb, "out of memory");
}

enum { MAX_OPTIONS = 40 };

int front_parse(int argc, char **argv, const char *synopsis, const char *description,
                const front_option *options, front_values *operands)
{
    struct option table[MAX_OPTIONS] = {0};
    bool seen[MAX_OPTIONS] = {0};
    int count = 0;
    for (; options[count].name != NULL && count < MAX_OPTIONS - 2; count++) {
        const char *argument = options[count].argument;
        table[count].name = options[count].name;
        table[count].has_arg = argument == NULL     ? no_argument
                               : argument[0] == '[' ? optional_argument
                                                    : required_argument;
        table[count].val = 256 + count;
    }
    table[count].name = "help";
    table[count].val = 256 + count;

    optind = 0; /* glibc: start again */
    opterr = 0;
    for (;;) {
        /* getopt_long accepts unambiguous abbreviations; a script that relies on one breaks when an
         * option is added. */
        int here = optind == 0 ? 1 : optind;
        int got = getopt_long(argc, argv, operands != NULL ? "-:h" : "+:h", table, NULL);
        if (got == -1)
            break;
        if (got == 1) { /* an operand, in order */
            int status = take_operand(argv[0], operands, optarg, argc);
            if (status != -1)
                return status;
            continue;
        }
        const char *word = here < argc ? argv[here] : "";
        if (got == ':')
            return front_usage(argv[0], "option '%s' needs an argument", word);
        if (got == 'h' && strcmp(word, "-h") == 0)
            return print_option_help(synopsis, description, options);
        if (got < 256)
            return front_usage(argv[0], "unknown option '%s', see `tightrope %s --help`", word,
                               argv[0]);
        size_t length = strcspn(word + 2, "=");
        if (strncmp(word, "--", 2) != 0 || strlen(table[got - 256].name) != length)
            return front_usage(argv[0], "unknown option '%s', did you mean '--%s'?", word,
                               table[got - 256].name);
        if (optarg != NULL && *optarg == '\0' && table[got - 256].has_arg == optional_argument)
            return front_usage(argv[0],
                               "option '--%s=' has an empty value, expected --%s or --%s=...",
                               table[got - 256].name, table[got - 256].name, table[got - 256].name);
        if (got - 256 == count)
            return print_option_help(synopsis, description, options);
        int status = take(argv[0], &options[got - 256], optarg, seen[got - 256], argc);
        if (status != -1)
            return status;
        seen[got - 256] = true;
    }
    if (optind < argc && operands == NULL)
        return front_usage(argv[0], "unexpected argument '%s', see `tightrope %s --help`",
                           argv[optind], argv[0]);
    int status = -1;
    for (; optind < argc && status == -1; optind++)
        status = take_operand(argv[0], operands, argv[optind], argc);
    return status;
}

bool front_split(const char *list, bool (*each)(const char *item, void *context, rope_error *error),
                 void *context, rope_error *error)
{
    char *copy = strdup(list);
    if (copy == NULL)
        return rope_fail(error, "out of memory");
    bool good = true;
    for (char *item = copy, *next; good && item != NULL; item = next) {
        next = strchr(item, ',');
        if (next != NULL)
            *next++ = '\0';
        good = *item != '\0' ? each(item, context, error)
                             : rope_fail(error, "empty item in the list '%s'", list);
    }
    free(copy);
    return good;
}

bool front_int64(const char *text, const char *what, int64_t low, int64_t high, int64_t *value,
                 rope_error *error)
{
    char *end;
    errno = 0;
    long long parsed = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || (unsigned char)*text <= ' ')
        return rope_fail(error, "%s '%s' is no whole number", what, text);
    if (errno == ERANGE || parsed < low || parsed > high)
        return rope_fail(error, "%s %s is out of range, expected %lld to %lld", what, text,
                         (long long)low, (long long)high);
    *value = parsed;
    return true;
}

bool front_uint64(const char *text, const char *what, uint64_t *value, rope_error *error)
{
    char *end;
    errno = 0;
    unsigned long long parsed = strtoull(text, &end, 0);
    if (end == text || *end != '\0' || *text < '0' || *text > '9')
        return rope_fail(error, "%s '%s' is no whole number >= 0", what, text);
    if (errno == ERANGE)
        return rope_fail(error, "%s %s is out of range, expected below 2^64", what, text);
    *value = parsed;
    return true;
}

bool front_double(const char *text, const char *what, double *value, rope_error *error)
{
    char *end;
    double parsed = strtod(text, &end);
    if (end == text || *end != '\0' || (unsigned char)*text <= ' ' || !isfinite(parsed))
        return rope_fail(error, "%s '%s' is no finite number", what, text);
    *value = parsed;
    return true;
}

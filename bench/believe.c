#include "bench/believe.h"

#include <math.h>
#include <string.h>

#include "bench/measure.h"

typedef enum { FIGURE, TIME, COUNT, POSITION, VERDICT } kind;

/* NULL where the field is good, else what was expected. */
static const char *expected_of(kind of, const char *text, double value)
{
    bool verdict = false;
    switch (of) {
    case FIGURE:
        return *text == '\0' || (isfinite(value) && value >= 0)
                   ? NULL
                   : "a finite number >= 0, or nothing where it was not measured";
    case TIME:
        return *text == '\0' || (isfinite(value) && value > 0)
                   ? NULL
                   : "a finite number above 0, or nothing where it was not measured";
    case COUNT:
        return isfinite(value) && value >= 1 && value == floor(value) ? NULL
                                                                      : "a whole number >= 1";
    case POSITION:
        return *text == '\0' || (isfinite(value) && value == floor(value)) ? NULL
                                                                           : "a whole number";
    case VERDICT:
        for (bench_verdict v = BENCH_PASS; v <= BENCH_SKIP; v++)
            verdict = verdict || strcmp(text, bench_verdict_name(v)) == 0;
        return verdict ? NULL : "pass, fail, no contract or skip";
    }
    return NULL;
}

bool bench_believe(const char *path, const rows_table *table, rope_error *error)
{
    static const struct {
        const char *name;
        kind kind;
    } columns[] = {
        {"tokens", COUNT},
        {"heads", COUNT},
        {"head_dim", COUNT},
        {"first_position", POSITION},
        {"last_position", POSITION},
        {"ns_per_element", TIME},
        {"ns_ci_low", FIGURE},
        {"ns_ci_high", FIGURE},
        {"ratio_memcpy", FIGURE},
        {"ratio_memcpy_low", FIGURE},
        {"ratio_memcpy_high", FIGURE},
        {"ratio_scale", FIGURE},
        {"ratio_scale_low", FIGURE},
        {"ratio_scale_high", FIGURE},
        {"memcpy_ns_per_element", FIGURE},
        {"scale_ns_per_element", FIGURE},
        {"max_error_u", FIGURE},
        {"verdict", VERDICT},
    };
    for (size_t r = 0; r < table->rows; r++)
        for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
            int column = rows_column(table, columns[i].name);
            if (column < 0)
                continue;
            const char *text = rows_field(table, r, column);
            const char *expected =
                expected_of(columns[i].kind, text, rows_field_number(table, r, column));
            if (expected != NULL)
                return rope_fail(error, "%.200s: line %zu: %s is '%.40s', expected %s", path,
                                 rows_line(table, r), columns[i].name, text, expected);
        }
    return true;
}

/* What was not judged, one line for rows of one kernel and verdict whose reasons differ in numbers
 * alone: a bound that grows with the position gives one reason for every band of positions. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "reports/choose.h"
#include "reports/markdown.h"
#include "reports/text.h"

/* The length of the number at the start of a text; 0: there is none. Digits inside a word (f16) or
 * after an equals sign (a spec's) are no number. */
static size_t number_at(const char *whole, const char *at)
{
    if (!isdigit((unsigned char)*at) ||
        (at > whole && (isalnum((unsigned char)at[-1]) || strchr("_=.", at[-1]) != NULL)))
        return 0;
    char *end;
    strtod(at, &end);
    return (size_t)(end - at);
}

/* Whether two reasons are the same but for their numbers. */
static bool is_alike(const char *a, const char *b)
{
    const char *x = a, *y = b;
    while (*x != '\0' && *y != '\0') {
        size_t m = number_at(a, x), n = number_at(b, y);
        if (m > 0 && n > 0) {
            x += m;
            y += n;
        } else if (*x++ != *y++)
            return false;
    }
    return *x == *y;
}

static bool is_unjudged(report_row row)
{
    return !report_is(row, "verdict", "pass") && !report_is(row, "verdict", "fail");
}

static bool same_group(report_row a, report_row b)
{
    return is_unjudged(b) && report_is(b, "kernel", report_text(a, "kernel")) &&
           report_is(b, "verdict", report_text(a, "verdict")) &&
           is_alike(report_text(a, "reason"), report_text(b, "reason"));
}

/* The start of the index-th number of a text that has as many. */
static const char *nth_number(const char *text, int index)
{
    for (const char *at = text;; at++) {
        size_t length = number_at(text, at);
        if (length > 0 && index-- == 0)
            return at;
        at += length > 0 ? length - 1 : 0;
    }
}

/* The least and the greatest of the index-th numbers in the reasons of a row's group. */
static void put_range(FILE *out, const report_rows *rows, report_row row, int index)
{
    const char *low = nth_number(report_text(row, "reason"), index), *high = low;
    double least = strtod(low, NULL), greatest = least;
    for (size_t r = 0; r < rows->count; r++) {
        if (!same_group(row, rows->items[r]))
            continue;
        const char *at = nth_number(report_text(rows->items[r], "reason"), index);
        double value = strtod(at, NULL);
        if (value < least) {
            least = value;
            low = at;
        }
        if (value > greatest) {
            greatest = value;
            high = at;
        }
    }
    char *end;
    strtod(low, &end);
    fprintf(out, "%.*s", (int)(end - low), low);
    strtod(high, &end);
    if (greatest > least)
        fprintf(out, " to %.*s", (int)(end - high), high);
}

/* The reason of the group of a row: a number that differs within it is "LEAST to GREATEST". */
static void put_reason(FILE *out, const report_rows *rows, report_row row)
{
    char *text = NULL;
    size_t size;
    FILE *plain = open_memstream(&text, &size);
    const char *reason = report_text(row, "reason");
    int index = 0;
    for (const char *at = reason; plain != NULL && *at != '\0';) {
        size_t length = number_at(reason, at);
        if (length > 0)
            put_range(plain, rows, row, index++);
        else
            fputc(*at, plain);
        at += length > 0 ? length : 1;
    }
    if (plain != NULL && fclose(plain) == 0)
        report_put(out, text);
    free(text);
}

void report_put_unjudged(FILE *out, const report_model *model)
{
    const report_rows *rows = &model->verify;
    bool any = false;
    for (size_t r = 0; r < rows->count; r++) {
        report_row row = rows->items[r];
        int equal = 0;
        bool first = is_unjudged(row);
        for (size_t o = 0; o < rows->count && first; o++)
            if (same_group(row, rows->items[o])) {
                first = o >= r;
                equal++;
            }
        if (!first)
            continue;
        if (!any) {
            fputs("**What was not judged** (never counted as a pass)\n\n", out);
            report_table(out, "kernel|verdict|reason|>rows");
        }
        any = true;
        fputs("| ", out);
        report_put(out, report_text(row, "kernel"));
        fputs(" | ", out);
        report_put(out, report_text(row, "verdict"));
        fputs(" | ", out);
        put_reason(out, rows, row);
        fprintf(out, " | %d |\n", equal);
    }
    if (any)
        fputs("\n", out);
}

#include "reports/text.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Invalid UTF-8 would stop pandoc: bytes outside ASCII are kept only in well-formed sequences. */
static int sequence_length(const unsigned char *s)
{
    int length = *s >= 0xc2 && *s <= 0xdf   ? 2
                 : *s >= 0xe0 && *s <= 0xef ? 3
                 : *s >= 0xf0 && *s <= 0xf4 ? 4
                                            : 0;
    for (int i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    /* Overlong forms, surrogates, and what is past U+10FFFF. */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

void report_put(FILE *out, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s != '\0'; s++) {
        if (*s < 0x20 || *s == 0x7f) {
            fputc(' ', out);
        } else if (*s < 0x80) {
            /* . , - / : ( ) % and ' mean nothing inside a line or a cell. */
            if (ispunct(*s) && strchr(".,-/:()%'=+;?", *s) == NULL)
                fputc('\\', out);
            fputc(*s, out);
        } else {
            int length = sequence_length(s);
            if (length == 0) {
                fputc('?', out);
                continue;
            }
            fwrite(s, 1, (size_t)length, out);
            s += length - 1;
        }
    }
}

void report_put_code(FILE *out, const char *text)
{
    fputs("<code>", out);
    report_put(out, text);
    fputs("</code>", out);
}

void report_put_number(FILE *out, double value, int digits)
{
    if (isnan(value))
        fputs("–", out);
    else
        fprintf(out, "%.*g", digits, value);
}

void report_put_bytes(FILE *out, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int unit = 0;
    for (; unit < 3 && bytes >= 1024; unit++)
        bytes /= 1024;
    fprintf(out, "%.4g %s", bytes, units[unit]);
}

void report_table(FILE *out, const char *names)
{
    fputs("| ", out);
    for (const char *c = names; *c != '\0'; c++)
        if (*c == '|')
            fputs(" | ", out);
        else if (*c != '>')
            fputc(*c, out);
    fputs(" |\n", out);
    for (const char *name = names; name != NULL;) {
        fputs(*name == '>' ? "|---:" : "|:---", out);
        name = strchr(name, '|');
        if (name != NULL)
            name++;
    }
    fputs("|\n", out);
}

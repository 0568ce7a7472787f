#include "props/annotate.h"

#include <stdlib.h>
#include <string.h>

/* Percent signs and line ends are escaped everywhere, separators in a property as well. */
static void escape(const char *text, const char *also, FILE *out)
{
    for (const char *c = text; *c != '\0'; c++)
        if (strchr("%\r\n", *c) != NULL || strchr(also, *c) != NULL)
            fprintf(out, "%%%02X", (unsigned)*c);
        else
            fputc(*c, out);
}

void prop_annotate(const char *kernel, const char *property, const char *reason, FILE *out)
{
    if (getenv("GITHUB_ACTIONS") == NULL)
        return;
    fputs("::error title=tightrope verify%3A ", out);
    escape(kernel, ":,", out);
    fputc(' ', out);
    escape(property, ":,", out);
    fputs("::", out);
    escape(reason, "", out);
    fputc('\n', out);
}

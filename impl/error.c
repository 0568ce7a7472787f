#include "impl/error.h"

#include <stdarg.h>
#include <stdio.h>

bool rope_fail(rope_error *error, const char *format, ...)
{
    if (error == NULL)
        return false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    /* User text is quoted in messages; a newline in it must not make two lines of one. */
    for (char *c = error->text; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    return false;
}

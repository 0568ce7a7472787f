/* One line for a person: what is wrong, where, what was expected. Library functions fill it and
 * never print. */
#ifndef ROPE_ERROR_H
#define ROPE_ERROR_H

#include <stdbool.h>

typedef struct rope_error {
    char text[512]; /* no newline, no trailing full stop needed */
} rope_error;

/* Formats into error->text (error may be NULL), replacing control characters; always returns false,
 * so that `return rope_fail(error, "...")` reads well. */
bool rope_fail(rope_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

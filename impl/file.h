/* Files that are read: opening never waits, as it would for the writer of a fifo. */
#ifndef ROPE_FILE_H
#define ROPE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "impl/error.h"

/* Opens a regular file to be read as bytes. Fails, with *file NULL, where it cannot be read or is
 * anything else: a folder, a fifo, a socket, a device. */
bool rope_open_regular(const char *path, FILE **file, rope_error *error);

/* The same without opening it, for a library that opens it itself. A file that does not exist or
 * may not be read passes: the library says so. */
bool rope_check_regular(const char *path, rope_error *error);

#endif

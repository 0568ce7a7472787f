/* For fuzz targets: the input as a file that lives in memory. */
#ifndef ROPE_FUZZ_FILE_H
#define ROPE_FUZZ_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "impl/error.h"

typedef struct fuzz_file {
    int descriptor;
    char path[64]; /* opens it, until fuzz_file_close */
} fuzz_file;

static inline fuzz_file fuzz_file_open(const void *data, size_t size)
{
    fuzz_file file = {.descriptor = memfd_create("fuzz", MFD_CLOEXEC)};
    if (file.descriptor < 0 || write(file.descriptor, data, size) != (ssize_t)size)
        abort();
    snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.descriptor);
    return file;
}

static inline void fuzz_file_close(fuzz_file *file)
{
    close(file->descriptor);
}

/* What was refused must have been told in one line. */
static inline void fuzz_refused(const rope_error *error)
{
    if (error->text[0] == '\0' || strchr(error->text, '\n') != NULL)
        abort();
}

#endif

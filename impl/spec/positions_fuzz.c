/* Position lists: refused with one line, or read, and then every position of every axis is there.
 * The first byte says whether the rest is text or the content of a .npy. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "impl/spec/positions.h"

enum { LIMIT = 1 << 12 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void refused(const rope_error *error)
{
    if (error->text[0] == '\0' || strchr(error->text, '\n') != NULL)
        abort();
}

static void parse(const char *text)
{
    rope_positions p;
    rope_error error = {""};
    if (!rope_positions_parse(text, LIMIT, &p, &error)) {
        refused(&error);
        return;
    }
    if (p.tokens < 1 || p.tokens > LIMIT || p.axes < 1 || p.axes > 4)
        abort();
    volatile int64_t last = 0; /* read, so that a list too short is seen */
    for (int64_t i = 0; i < p.tokens * (int64_t)p.axes; i++)
        last = p.values[i];
    (void)last;
    rope_positions_free(&p);
}

static void as_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL)
        return;
    memcpy(text, data, size);
    text[size] = '\0';
    int64_t first, end;
    rope_error error = {""};
    if (!rope_range_parse(text, &first, &end, &error))
        refused(&error);
    else if (first >= end)
        abort();
    if (strstr(text, ".npy") == NULL) /* it would read whatever the bytes name */
        parse(text);
    free(text);
}

static void as_file(const uint8_t *data, size_t size)
{
    static char path[64];
    if (*path == '\0')
        snprintf(path, sizeof path, "/tmp/positions_fuzz.%ld.npy", (long)getpid());
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size)
        abort();
    fclose(file);
    parse(path);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] & 1)
        as_file(data + 1, size - 1);
    else
        as_text(data + 1, size - 1);
    return 0;
}

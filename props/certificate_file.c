/* Certificates in files, and the hash of a file. */
#include <errno.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/file.h"
#include "props/certificate.h"

static char *slurp(const char *path, size_t limit, size_t *size, rope_error *error)
{
    FILE *file;
    if (!rope_open_regular(path, &file, error))
        return NULL;
    char *text = NULL;
    size_t used = 0, room = 0;
    for (;;) {
        if (used == room) {
            room = room > 0 ? 2 * room : 1 << 16;
            char *more = room <= limit ? realloc(text, room + 1) : NULL;
            if (more == NULL) {
                rope_fail(error, "cannot read %s: larger than %zu bytes", path, limit);
                break;
            }
            text = more;
        }
        size_t got = fread(text + used, 1, room - used, file);
        used += got;
        if (got == 0) {
            if (ferror(file)) {
                rope_fail(error, "cannot read %s: %s", path, strerror(errno));
                break;
            }
            fclose(file);
            text[used] = '\0';
            *size = used;
            return text;
        }
    }
    free(text);
    fclose(file);
    return NULL;
}

bool certificate_hash_file(const char *path, char hash[65], rope_error *error)
{
    if (!rope_check_regular(path, error))
        return false;
    if (SHA256File(path, hash) == NULL)
        return rope_fail(error, "cannot read %s: %s", path, strerror(errno));
    return true;
}

certificate_reading certificate_read(const char *path, certificate *c, rope_error *error)
{
    *c = (certificate){0};
    size_t size;
    char *text = slurp(path, (size_t)64 << 20, &size, error);
    if (text == NULL)
        return CERTIFICATE_MALFORMED;
    rope_error inner;
    certificate_reading reading = certificate_parse(text, size, c, &inner);
    if (reading != CERTIFICATE_READ)
        rope_fail(error, "%.200s: %.300s", path, inner.text);
    free(text);
    return reading;
}

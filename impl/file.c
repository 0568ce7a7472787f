#include "impl/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool regular(const char *path, const struct stat *status, rope_error *error)
{
    return S_ISREG(status->st_mode) ||
           rope_fail(error, "cannot read %s: %s, expected a regular file", path,
                     S_ISDIR(status->st_mode)    ? "Is a directory"
                     : S_ISFIFO(status->st_mode) ? "is a fifo"
                                                 : "is a device or socket");
}

bool rope_open_regular(const char *path, FILE **file, rope_error *error)
{
    struct stat status;
    *file = NULL;
    /* Without O_NONBLOCK a fifo's open waits for its writer; a regular file ignores the flag. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return rope_fail(error, "cannot read %s: %s", path, strerror(errno));
    if (fstat(fd, &status) != 0)
        rope_fail(error, "cannot read %s: %s", path, strerror(errno));
    else if (regular(path, &status, error)) {
        *file = fdopen(fd, "rb");
        if (*file != NULL)
            return true;
        rope_fail(error, "cannot read %s: %s", path, strerror(errno));
    }
    close(fd);
    return false;
}

bool rope_check_regular(const char *path, rope_error *error)
{
    struct stat status;
    return stat(path, &status) != 0 || regular(path, &status, error);
}

/* Files and folders that appear whole or not at all: made beside their name, then renamed. */
#include "scripts/front/rows.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_TEMPORARIES = 32, PATH_SIZE = 4096 };
static char temporaries[MAX_TEMPORARIES][PATH_SIZE]; /* "" = free; read by the signal handler */

static void remember(const char *path)
{
    for (int i = 0; i < MAX_TEMPORARIES; i++)
        if (temporaries[i][0] == '\0') {
            memcpy(temporaries[i], path, strlen(path) + 1);
            return;
        }
}

static void forget(const char *path)
{
    for (int i = 0; i < MAX_TEMPORARIES; i++)
        if (strcmp(temporaries[i], path) == 0)
            temporaries[i][0] = '\0';
}

/* With fork, exec and wait alone, which a signal handler may call. */
static void remove_tree(const char *path)
{
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/rm", "rm", "-rf", "--", path, (char *)NULL);
        _exit(127);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

void rows_remove_temporaries(void)
{
    for (int i = 0; i < MAX_TEMPORARIES; i++)
        if (temporaries[i][0] != '\0' && unlink(temporaries[i]) != 0 &&
            (errno == EISDIR || errno == EPERM))
            remove_tree(temporaries[i]);
}

/* Devices, pipes and the like are written to directly: a rename would put a file in their place. */
static bool is_special(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

FILE *rows_file_create(const char *path, char *temporary, size_t size, rope_error *error)
{
    FILE *file;
    struct stat status;
    temporary[0] = '\0';
    size_t length = strlen(path);
    if ((stat(path, &status) == 0 && S_ISDIR(status.st_mode)) ||
        (length > 0 && path[length - 1] == '/')) {
        rope_fail(error, "cannot write %s: it names a folder, expected a file", path);
        return NULL;
    }
    if (is_special(path)) {
        file = fopen(path, "w");
        if (file == NULL)
            rope_fail(error, "cannot write %s: %s", path, strerror(errno));
        return file;
    }
    if ((size_t)snprintf(temporary, size, "%s.tmp.%ld", path, (long)getpid()) >= size ||
        strlen(temporary) >= PATH_SIZE) {
        rope_fail(error, "cannot write %s: its name is too long", path);
        return NULL;
    }
    file = fopen(temporary, "w");
    if (file == NULL) {
        rope_fail(error, "cannot write %s: %s", path, strerror(errno));
        return NULL;
    }
    remember(temporary);
    return file;
}

bool rows_file_commit(FILE *file, const char *temporary, const char *path, rope_error *error)
{
    bool special = temporary[0] == '\0';
    /* A full disk shows at the flush, the sync or the close. */
    bool good = fflush(file) == 0 && !ferror(file) && (special || fsync(fileno(file)) == 0);
    int cause = errno;
    if (fclose(file) != 0 && good) {
        good = false;
        cause = errno;
    }
    if (good && !special && rename(temporary, path) != 0) {
        good = false;
        cause = errno;
    }
    if (!special) {
        if (!good)
            unlink(temporary);
        forget(temporary);
    }
    return good || rope_fail(error, "cannot write %s: %s", path, strerror(cause ? cause : EIO));
}

void rows_file_abandon(const char *temporary)
{
    if (*temporary != '\0')
        unlink(temporary);
    forget(temporary);
}

/* ---- folders ---- */

/* Makes the folders above a name that are missing; those stay, whatever comes of it. */
static bool make_parents(const char *name, rope_error *error)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s", name);
    for (char *c = path + 1; *path != '\0' && *c != '\0'; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        if (mkdir(path, 0777) != 0 && access(path, F_OK) != 0)
            return rope_fail(error, "cannot make the folder %s for %s: %s", path, name,
                             strerror(errno));
        *c = '/';
    }
    return true;
}

bool rows_folder_create(const char *path, char *temporary, size_t size, rope_error *error)
{
    char name[PATH_SIZE];
    if ((size_t)snprintf(name, sizeof name, "%s", path) >= sizeof name - 32)
        return rope_fail(error, "cannot write %.100s...: its name is too long", path);
    for (size_t end = strlen(name); end > 1 && name[end - 1] == '/'; end--)
        name[end - 1] = '\0';
    struct stat status;
    bool exists = stat(name, &status) == 0;
    if (exists && !S_ISDIR(status.st_mode))
        return rope_fail(error, "cannot write %s: it is a file, expected a folder", path);
    if (exists && access(name, W_OK | X_OK) != 0)
        return rope_fail(error, "cannot write in %s: %s", path, strerror(errno));
    if (!exists && !make_parents(name, error))
        return false;
    /* Inside where it exists (its parent may be another file system, or closed to us). */
    int length =
        snprintf(temporary, size, exists ? "%s/.tmp.%ld" : "%s.tmp.%ld", name, (long)getpid());
    if (length < 0 || (size_t)length >= size || length >= PATH_SIZE)
        return rope_fail(error, "cannot write %.100s...: its name is too long", path);
    if (mkdir(temporary, 0777) != 0)
        return rope_fail(error, "cannot write %s: %s", path, strerror(errno));
    remember(temporary);
    return true;
}

/* Moves every entry into the folder that exists; `last` goes last, so that who finds it finds the
 * others. */
static bool move_entries(const char *temporary, const char *path, const char *last)
{
    bool good = true;
    for (int round = 0; good && round < 2; round++) {
        DIR *folder = opendir(temporary);
        good = folder != NULL;
        for (struct dirent *entry; good && (entry = readdir(folder)) != NULL;) {
            char from[PATH_SIZE + 300], to[PATH_SIZE + 300];
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                (strcmp(entry->d_name, last) == 0) != (round == 1))
                continue;
            snprintf(from, sizeof from, "%s/%s", temporary, entry->d_name);
            snprintf(to, sizeof to, "%s/%s", path, entry->d_name);
            good = rename(from, to) == 0;
        }
        if (folder != NULL)
            closedir(folder);
    }
    return good && rmdir(temporary) == 0;
}

bool rows_folder_commit(const char *temporary, const char *path, const char *last,
                        rope_error *error)
{
    struct stat status;
    bool good = stat(path, &status) == 0 ? move_entries(temporary, path, last)
                                         : rename(temporary, path) == 0;
    int cause = errno;
    if (!good)
        remove_tree(temporary);
    forget(temporary);
    return good || rope_fail(error, "cannot write %s: %s", path, strerror(cause));
}

void rows_folder_abandon(const char *temporary)
{
    remove_tree(temporary);
    forget(temporary);
}

#include "reports/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool report_tool_exists(const char *name)
{
    const char *path = getenv("PATH");
    char *copy = strdup(path ? path : "/usr/bin:/bin"), *rest = copy, *folder;
    bool found = false;
    while (copy != NULL && !found && (folder = strsep(&rest, ":")) != NULL) {
        char file[4096];
        found = (size_t)snprintf(file, sizeof file, "%s/%s", *folder ? folder : ".", name) <
                    sizeof file &&
                access(file, X_OK) == 0;
    }
    free(copy);
    return found;
}

/* In the child: working folder, quiet input and output, errors to `log`, a fixed environment. */
static void run_child(const char *folder, char *const *argv, int log)
{
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 || chdir(folder) != 0)
        _exit(126);
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("SOURCE_DATE_EPOCH", "0", 1);
    unsetenv("GNUTERM");
    unsetenv("GNUPLOT_LIB");
    unsetenv("GDFONTPATH");
    execvp(argv[0], argv);
    _exit(127);
}

/* The first line of what the program said, for a message. */
static void first_words(FILE *log, char *text, size_t size)
{
    rewind(log);
    text[0] = '\0';
    for (char line[256]; text[0] == '\0' && fgets(line, sizeof line, log) != NULL;) {
        line[strcspn(line, "\n")] = '\0';
        snprintf(text, size, "%s", line);
    }
}

static bool run(const char *folder, char *const *argv, rope_error *error)
{
    FILE *log = tmpfile();
    if (log == NULL)
        return rope_fail(error, "cannot make a temporary file: %s", strerror(errno));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        run_child(folder, argv, fileno(log));
    int status = -1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    bool good = child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!good) {
        char words[256];
        first_words(log, words, sizeof words);
        rope_fail(error, "%s failed in %s%s%s", argv[0], folder, *words ? ": " : "", words);
    }
    fclose(log);
    return good;
}

bool report_gnuplot(const char *folder, const char *script, rope_error *error)
{
    char *argv[] = {"gnuplot", "-d", (char *)script, NULL};
    return run(folder, argv, error);
}

bool report_pandoc(const char *folder, const char *title, rope_error *error)
{
    char page_title[256];
    snprintf(page_title, sizeof page_title, "pagetitle=%s", title);
    /* No typographic changes ("--" must stay two dashes); --columns so that wide tables keep their
     * own widths; the user's templates are not asked. */
    char *argv[] = {"pandoc",
                    "--from=markdown-smart",
                    "--to=html5",
                    "--standalone",
                    "--self-contained",
                    "--columns=100000",
                    "--css=style.css",
                    "--data-dir=.",
                    "--metadata",
                    page_title,
                    "--variable=lang:en",
                    "--output=index.html",
                    "index.md",
                    NULL};
    return run(folder, argv, error);
}

/* A file is easier to read and to edit than a string. */
__asm__(".section .rodata\n"
        ".global report_style\n"
        ".type report_style, %object\n"
        "report_style:\n"
        ".incbin \"reports/style.css\"\n"
        ".byte 0\n"
        ".size report_style, . - report_style\n"
        ".previous\n");

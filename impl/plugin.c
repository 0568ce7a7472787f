#include "impl/plugin.h"
#include "impl/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "impl/controls.h"
#include "impl/registry.h"

enum { SECONDS = 10, MOST_KERNELS = 4096 };

/* A bare file name is a file here, not a library of the system. */
static void *open_library(const char *path)
{
    char local[4096];
    if (strchr(path, '/') == NULL &&
        (size_t)snprintf(local, sizeof local, "./%s", path) < sizeof local)
        path = local;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static bool check_kernels(const rope_plugin *p, rope_error *error)
{
    for (size_t i = 0; i < p->count; i++) {
        rope_error reason;
        if (!rope_kernel_check(p->kernels[i], &reason))
            return rope_fail(error, "plug-in %s, kernel %zu: %s", p->path, i + 1, reason.text);
        for (size_t k = 0; k < i; k++)
            if (strcmp(rope_header_name(p->kernels[i]), rope_header_name(p->kernels[k])) == 0)
                return rope_fail(error, "plug-in %s has two kernels named %s", p->path,
                                 rope_header_name(p->kernels[i]));
    }
    return true;
}

static bool load_here(rope_plugin *p, rope_error *error)
{
    if (!rope_check_regular(p->path, error))
        return false;
    void *library = open_library(p->path);
    if (library == NULL) {
        const char *why = dlerror();
        return rope_fail(error, "cannot load plug-in %s: %s", p->path,
                         why != NULL ? why : "unknown reason");
    }
    rope_plugin_entry *entry;
    /* POSIX lets dlsym's result be a function; ISO C has no conversion for it. */
    *(void **)&entry = dlsym(library, "tightrope_kernels");
    if (entry == NULL)
        return rope_fail(error, "plug-in %s exports no function tightrope_kernels", p->path);
    p->kernels = entry(ROPE_ABI, &p->count);
    if (p->kernels == NULL || p->count == 0)
        return rope_fail(error, "plug-in %s has no kernel for ABI %d", p->path, (int)ROPE_ABI);
    if (p->count > MOST_KERNELS)
        return rope_fail(error, "plug-in %s claims %zu kernels, expected at most %d", p->path,
                         p->count, (int)MOST_KERNELS);
    return check_kernels(p, error);
}

/* In a child: 'y' once all is well, else the line that says why not. */
static _Noreturn void trial(rope_plugin p, int out)
{
    /* A crash must end this child, and not wake a handler of the parent's. */
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL,  SIGFPE, SIGABRT,
                                SIGALRM, SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        signal(fatal[i], SIG_DFL);
    rope_error error = {""};
    bool good = load_here(&p, &error);
    if (write(out, good ? "y" : error.text, good ? 1 : strlen(error.text)) < 0)
        _exit(1);
    _exit(0);
}

/* Reads what the child says, until it ends or the time is up. */
static size_t listen_to(int in, char *text, size_t size, bool *late)
{
    size_t used = 0;
    struct pollfd wait = {.fd = in, .events = POLLIN};
    for (;;) {
        int ready = poll(&wait, 1, SECONDS * 1000);
        if (ready < 0 && errno == EINTR)
            continue;
        *late = ready == 0;
        if (ready <= 0 || used + 1 >= size)
            return used;
        ssize_t got = read(in, text + used, size - 1 - used);
        if (got <= 0)
            return used;
        used += (size_t)got;
    }
}

static bool try_in_child(const rope_plugin *p, rope_error *error)
{
    int ends[2];
    if (pipe(ends) != 0)
        return rope_fail(error, "cannot make a pipe: %s", strerror(errno));
    fflush(NULL); /* or an exit() in the child would write our buffers a second time */
    pid_t child = fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        return rope_fail(error, "cannot make a process: %s", strerror(errno));
    }
    if (child == 0) {
        close(ends[0]);
        trial(*p, ends[1]);
    }
    close(ends[1]);
    char text[sizeof error->text] = "";
    bool late = false;
    size_t used = listen_to(ends[0], text, sizeof text, &late);
    close(ends[0]);
    if (late)
        kill(child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (late)
        return rope_fail(error, "plug-in %s is not loaded after %d s", p->path, (int)SECONDS);
    if (WIFSIGNALED(status))
        return rope_fail(error, "plug-in %s crashes when it is loaded: SIG%s", p->path,
                         sigabbrev_np(WTERMSIG(status)));
    text[used] = '\0';
    if (strcmp(text, "y") == 0)
        return true;
    return rope_fail(error, "%s", used > 0 ? text : "plug-in ends the process when it is loaded");
}

/* What loading may change: MXCSR without its sticky flags (0xFFC0) and the x87 control word, or the
 * rounding mode. */
typedef struct {
    uint32_t mxcsr, x87;
    int rounding;
} controls;

static controls controls_now(void)
{
    controls c = {.rounding = fegetround()};
#if defined(__x86_64__)
    uint16_t x87;
    __asm__ volatile("stmxcsr %0" : "=m"(c.mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    c.mxcsr &= 0xffc0;
    c.x87 = x87;
#endif
    return c;
}

static void describe(const controls *were, const controls *are, char *text, size_t size)
{
    char mxcsr[ROPE_CONTROL_TEXT] = "", x87[ROPE_CONTROL_TEXT] = "";
    if (are->mxcsr != were->mxcsr)
        rope_control_change(ROPE_CONTROL_MXCSR, were->mxcsr, are->mxcsr, mxcsr, sizeof mxcsr);
    if (are->x87 != were->x87)
        rope_control_change(ROPE_CONTROL_X87, were->x87, are->x87, x87, sizeof x87);
    if (*mxcsr != '\0' || *x87 != '\0')
        snprintf(text, size, "loading the plug-in changes the floating-point controls: %s%s%s",
                 mxcsr, *mxcsr != '\0' && *x87 != '\0' ? "; " : "", x87);
    else if (are->rounding != were->rounding)
        snprintf(text, size,
                 "loading the plug-in changes the floating-point controls: rounding mode was %d "
                 "and became %d",
                 were->rounding, are->rounding);
}

bool rope_plugin_load(const char *path, rope_plugin *plugin, rope_error *error)
{
    *plugin = (rope_plugin){.path = path};
    /* -ffast-math links code that sets flush-to-zero at start; such a plug-in is measured, but not
     * with our controls changed. */
    fenv_t before;
    fegetenv(&before);
    controls were = controls_now();
    bool good = try_in_child(plugin, error) && load_here(plugin, error);
    controls are = controls_now();
    describe(&were, &are, plugin->disturbance, sizeof plugin->disturbance);
    fesetenv(&before);
    return good;
}

const rope_header *rope_plugins_find(const rope_plugin *plugins, size_t count, const char *name,
                                     const rope_plugin **from)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < plugins[i].count; k++)
            if (strcmp(rope_header_name(plugins[i].kernels[k]), name) == 0) {
                if (from != NULL)
                    *from = &plugins[i];
                return plugins[i].kernels[k];
            }
    return NULL;
}

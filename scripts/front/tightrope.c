/* The `tightrope` command: picks a verb. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "scripts/front/environment.h"
#include "scripts/front/front.h"
#include "scripts/front/rows.h"

static void on_interrupt(int signal_number)
{
    rows_remove_temporaries();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void print_help(void)
{
    printf("usage: tightrope VERB [OPTION]...   (tightrope VERB --help; tightrope --version)\n\n");
    for (const front_entry *e = front_verbs; e->name != NULL; e++)
        printf("  %-9s %s\n", e->name, e->summary);
    printf("\nexit status: 0 all hold; 1 a check fell short; 2 wrong usage or unusable file; 3 "
           "something is missing\n");
}

/* The status, unless what was printed did not get out. */
static int written(int status, const char *verb)
{
    if ((fflush(stdout) != 0 || ferror(stdout)) && status != FRONT_USAGE)
        return front_usage(verb, "cannot write to standard output");
    return status;
}

int main(int argc, char **argv)
{
    signal(SIGINT, on_interrupt);
    signal(SIGTERM, on_interrupt);
    signal(SIGHUP, on_interrupt);
    if (argc < 2)
        return front_usage(NULL,
                           "no verb given, expected one of those that `tightrope --help` lists");
    static const char *const help[] = {"--help", "-h", "help"};
    for (size_t i = 0; i < sizeof help / sizeof help[0]; i++)
        if (strcmp(argv[1], help[i]) == 0) {
            print_help();
            return written(FRONT_HOLDS, NULL);
        }
    if (strcmp(argv[1], "--version") == 0) {
        char text[128];
        front_version(text, sizeof text);
        puts(text);
        return written(FRONT_HOLDS, NULL);
    }
    for (const front_entry *e = front_verbs; e->name != NULL; e++)
        if (strcmp(e->name, argv[1]) == 0)
            return written(e->run(argc - 1, argv + 1), e->name);
    return front_usage(
        NULL, "unknown verb '%s', expected one of those that `tightrope --help` lists", argv[1]);
}

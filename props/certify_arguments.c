#include "props/certify_arguments.h"

#include <string.h>
#include <unistd.h>

#include "impl/spec/positions.h"
#include "oracle/oracle.h"

void certify_arguments_table(certify_arguments *a, const front_option *own, front_option *table)
{
    const front_option shared[CERTIFY_ARGUMENTS] = {
        {.name = "kernel",
         .argument = "A,B",
         .help = "kernels; default: the whole registry",
         .value = &a->kernels},
        {.name = "plugin",
         .argument = "F.so",
         .help = "the kernels of a shared object; may be repeated",
         .values = &a->plugins},
        {.name = "spec",
         .argument = "S",
         .help = "what to rotate by; may be repeated",
         .values = &a->specs},
        {.name = "dtype",
         .argument = "f32,..",
         .help = "dtypes, or all; default: f32, or a kernel's first",
         .value = &a->dtypes},
        {.name = "positions",
         .argument = "A:B",
         .help = "range, B excluded; default 0:1048576",
         .value = &a->positions},
        {.name = "truth",
         .argument = "T",
         .help = "exact (default) or as-trained",
         .value = &a->truth},
        {.name = "seed",
         .argument = "N",
         .help = "of random vectors, layouts and the search; default 1",
         .value = &a->seed},
        {.name = "jobs",
         .argument = "N",
         .help = "processes; default: one a processor",
         .value = &a->jobs},
        {.name = "csv", .argument = "[FILE]", .help = "rows as CSV", .value = &a->csv},
    };
    int n = 0;
    for (int i = 0; i < CERTIFY_ARGUMENTS; i++)
        table[n++] = shared[i];
    for (; own->name != NULL && n < CERTIFY_OPTIONS - 1; own++)
        table[n++] = *own;
    table[n] = (front_option){0};
}

bool certify_arguments_run(const certify_arguments *a, certify_options *run, rope_error *error)
{
    int64_t jobs = sysconf(_SC_NPROCESSORS_ONLN);
    const char *positions = a->positions != NULL ? a->positions : "0:1048576";
    if ((a->truth != NULL && !oracle_truth_parse(a->truth, &run->truth, error)) ||
        (a->jobs != NULL && !front_int64(a->jobs, "--jobs", 1, 256, &jobs, error)) ||
        (a->seed != NULL && !front_uint64(a->seed, "--seed", &run->seed, error)) ||
        !rope_range_parse(positions, &run->first, &run->end, error))
        return false;
    run->jobs = (int)jobs;
    return (uint64_t)run->end - (uint64_t)run->first <= (uint64_t)CERTIFY_LONGEST ||
           rope_fail(error, "--positions %s holds more than 2^48 positions", positions);
}

bool certify_arguments_select(const certify_arguments *a, certify_selection *chosen,
                              rope_error *error)
{
    return certify_select(chosen, a->kernels, &a->plugins, &a->specs, a->dtypes, error);
}

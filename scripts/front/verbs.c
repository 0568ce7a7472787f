/* The table of verbs: one line each. A verb lives with the part that does its work. */
#include "scripts/front/verbs.h"

#include <stddef.h>

const front_entry front_verbs[] = {
    {"list", "what this build knows: kernels, presets, properties, mutants, scalings, encodings",
     verb_list},
    {"verify", "hold kernels against the exact rotation, their contracts and properties",
     verb_verify},
    {"oracle", "exact inverse frequency, angle, cos and sin at given positions", verb_oracle},
    {"check", "the verdict on a dump: which computation explains it", verb_check},
    {"identify", "which spec and which fault explain a dump", verb_identify},
    {"dump", "what a kernel or a mutant makes of an input, as .npy", verb_dump},
    {"certify", "measure kernels at every position of a range; --recheck a certificate",
     verb_certify},
    {"merge", "one certificate from the shards of a range", verb_merge},
    {"hunt", "search for the largest errors; where they come from; drift", verb_hunt},
    {"bench", "time kernels beside the floors, and check what was timed", verb_bench},
    {"compare", "two files of bench rows against each other; exit 1 on a regression", verb_compare},
    {"pick", "the fastest kernel that keeps an error budget", verb_pick},
    {"report", "write a page, figures and tables from the rows of the other verbs", verb_report},
    {NULL, NULL, NULL},
};

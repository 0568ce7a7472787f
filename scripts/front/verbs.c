/* The table of verbs: one line each. A verb lives with the part that does its work. */
#include "scripts/front/verbs.h"

#include <stddef.h>

const front_entry front_verbs[] = {
    {"list", "what this build knows: kernels, presets, properties, mutants, scalings, encodings",
     verb_list},
    {"bench", "time kernels beside the floors, and check what was timed", verb_bench},
    {"certify", "exhaustive measurement of kernels over a range of positions", verb_certify},
    {"check", "the verdict on a dump: which computation explains it", verb_check},
    {"hunt", "search for the largest errors; where they come from; drift", verb_hunt},
    {"merge", "joins the certificates of a range's shards", verb_merge},
    {"oracle", "exact inverse frequency, angle, cos and sin at given positions", verb_oracle},
    {"verify", "hold kernels against the exact rotation and their contracts", verb_verify},
    {"compare", "two files of bench against each other; exit 1 on a regression", verb_compare},
    {"pick", "the fastest kernel that keeps an error budget", verb_pick},
    {"report", "a page, figures and tables from the rows of verify and bench", verb_report},
    {"identify", "which spec and which fault explain a dump", verb_identify},
    {"dump", "what a kernel or a mutant makes of an input, as .npy", verb_dump},
    {NULL, NULL, NULL},
};

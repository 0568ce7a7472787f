/* What the options of `tightrope verify` say. */
#ifndef PROPS_VERIFY_OPTIONS_H
#define PROPS_VERIFY_OPTIONS_H

#include "props/verify.h"
#include "props/verify_encodings.h"
#include "props/verify_plugins.h"
#include "scripts/front/front.h"

/* As given; NULL where absent. */
typedef struct prop_options {
    const char *kernels, *dtypes, *level, *truth, *seed, *jobs, *junit, *replay, *csv, *mutants;
    front_values plugins, specs;
} prop_options;

/* As understood. */
typedef struct prop_orders {
    prop_verification v;
    prop_encodings encodings;
    prop_plugins plugins;
    prop_level level;
    rope_truth truth;
    int jobs;
} prop_orders;

/* False with a line. Release in any case. */
bool prop_orders_read(const prop_options *o, prop_orders *orders, rope_error *error);

/* The suite of specs, and the units of all kernels that this machine can run. */
bool prop_orders_prepare(const prop_options *o, prop_orders *orders, rope_error *error);

void prop_orders_release(prop_orders *orders);

const char *prop_level_name(prop_level level);

/* --replay: judges one case; an exit status. */
int prop_replay(const prop_options *o, prop_orders *orders);

/* --mutants: the mutation run; an exit status. */
int prop_verify_mutants(int argc, char **argv, const prop_options *o, prop_orders *orders);

#endif

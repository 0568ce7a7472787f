/* Frauds of the contract: the kernel is right, its claim is not one. */
#include "props/mutants/common.h"

#include <math.h>

static const mutant_hooks contract_nan_hooks = {0};
static double claim_nan(const rope_plan_args *args, int64_t position, int64_t pair)
{
    (void)args, (void)position, (void)pair;
    return NAN;
}
MUTATION(contract_nan, "FRAUD", "claims a bound of NaN", .error_bound = claim_nan);

static const mutant_hooks contract_infinite_hooks = {0};
static double claim_infinity(const rope_plan_args *args, int64_t position, int64_t pair)
{
    (void)args, (void)position, (void)pair;
    return INFINITY;
}
MUTATION(contract_infinite, "FRAUD", "claims an infinite bound", .error_bound = claim_infinity);

static const mutant_hooks contract_negative_hooks = {0};
static double claim_negative(const rope_plan_args *args, int64_t position, int64_t pair)
{
    (void)args, (void)position, (void)pair;
    return -3;
}
MUTATION(contract_negative, "FRAUD", "claims a bound of -3", .error_bound = claim_negative);

static const mutant_hooks contract_vast_hooks = {0};
static double claim_vast(const rope_plan_args *args, int64_t position, int64_t pair)
{
    (void)args, (void)position, (void)pair;
    return 0x1p26;
}
MUTATION(contract_vast, "FRAUD", "claims 2^26 u, which any result keeps",
         .error_bound = claim_vast);

static const mutant_hooks contract_zero_hooks = {0};
static double claim_zero(const rope_plan_args *args, int64_t position, int64_t pair)
{
    (void)args, (void)position, (void)pair;
    return 0;
}
MUTATION(contract_zero, "FRAUD", "claims exact results", .error_bound = claim_zero);

static const mutant_hooks contract_tight_hooks = {0};
static double claim_tight(const rope_plan_args *args, int64_t position, int64_t pair)
{
    (void)args, (void)position, (void)pair;
    return 1.5;
}
MUTATION(contract_tight, "FRAUD", "claims 1.5 u where 2.8 u are reached",
         .error_bound = claim_tight);

/* Wrong at the positions where it claims as good as nothing. */
static bool spiked(int64_t position)
{
    return position % 1000 == 617;
}
static double claim_spiked(const rope_plan_args *args, int64_t position, int64_t pair)
{
    return spiked(position)
               ? 0x1p22
               : mutant_original(&mutation_contract_spiked)->error_bound(args, position, pair);
}
static void turn_spiked(const rope_plan *p, int64_t position, int64_t pair, float *c, float *s)
{
    mutant_turn(p, position, pair, c, s);
    if (spiked(position))
        *s += 0.125f;
}
static const mutant_hooks contract_spiked_hooks = {.turn = turn_spiked};
MUTATION(contract_spiked, "FRAUD",
         "off by .125 at one position in a thousand, where it claims 2^22 u",
         .error_bound = claim_spiked);

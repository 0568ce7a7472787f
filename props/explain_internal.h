/* Inside of the explanation engine: its state, angles and judgements. */
#ifndef PROPS_EXPLAIN_INTERNAL_H
#define PROPS_EXPLAIN_INTERNAL_H

#include "props/explain.h"

/* One candidate frequency of a pair under one arithmetic. */
typedef struct {
    bool stands;
    double max_error_u;
    int64_t token, head; /* where that is */
} candidate;

/* All candidates of one way to compute the angle. Candidate k of a pair is the number k - steps
 * away from the nearest to theta (or to 1/theta). */
typedef struct {
    prop_angle angle;
    uint32_t format;
    int64_t *first;        /* [pairs + 1]: where a pair's candidates begin */
    double *centre;        /* [pairs]: fl(theta), or fl(1/theta) */
    candidate *candidates; /* [arithmetics][first[pairs]] */
} angle_set;

enum { MAX_SETS = 8, MAX_COMBINATIONS = MAX_SETS * PROP_ARITHMETICS };

struct prop_explanation {
    prop_model model;
    double u, attention_factor;
    int arithmetics; /* how many of: */
    prop_arithmetic arithmetic[PROP_ARITHMETICS];
    angle_set sets[MAX_SETS];
    int set_count;
    prop_combination combinations[MAX_COMBINATIONS]; /* set-major */
    bool *refuted;                                   /* [combinations][pairs] */
    double *pair_data;                               /* [6][heads]: x0, x1, y0, y1, A |x| u, head */
    int64_t heads;
};

/* The verdict of one candidate on one token's pair, kept so that candidates which yield the same
 * angle need one evaluation. */
typedef struct {
    bool stands;
    double error_u;
    int64_t head;
} judgement;

/* A set of the angle has one candidate for each pair: its frequency is exact. */
bool prop_one_frequency(prop_angle angle);

/* Judged bit for bit. */
bool prop_bitwise(prop_arithmetic arithmetic);

/* x in the format; x moved by k numbers of the format, x > 0. */
double prop_nearest(uint32_t format, double x);
double prop_move(uint32_t format, double x, int64_t k);

/* How far the set's angle for candidate k of a pair lies from position * theta. */
double prop_angle_change(const angle_set *set, const prop_model *m, int64_t pair, int64_t k,
                         double position);

/* cos and sin of an angle that lies `change` from the exact one. */
oracle_cos_sin_dd prop_turned(oracle_cos_sin_dd exact, double change);

/* One combination with one angle against the n heads in pair_data. */
judgement prop_judge_angle(const prop_explanation *e, int64_t n,
                           const prop_combination *combination, oracle_cos_sin_dd r);

/* 16-bit storage: whether the candidates at both ends of a range speak for all between, and how. */
bool prop_judge_range(prop_explanation *e, const prop_row *row, int64_t pair, int64_t n,
                      const prop_combination *combination, const double change[2],
                      judgement *verdict);

#endif

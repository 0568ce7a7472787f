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
    prop_place *refuted; /* [combinations][pairs]: where the pair was refuted; token -1: stands */
    bool skip[MAX_COMBINATIONS]; /* refuted, while another stands: of no interest */
    double *row_data;            /* what prop_explanation_feed gathers in, for row_heads heads */
    int64_t row_heads;
};

enum { STEP_ANSWERS = 8 };

/* Whether S2 by one table matches the heads, and if not, which one first. */
typedef struct {
    float c, s;
    bool match;
    int64_t head;
} step_answer;

/* One token's pair, of the n heads whose numbers are all finite. */
typedef struct {
    int64_t n, heads;
    double *data; /* [6][heads]: x0, x1, y0, y1, A |x| u, head */
    step_answer answers[STEP_ANSWERS];
    int asked;
} gathered;

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

/* One combination with one angle against the heads gathered. */
judgement prop_judge_angle(const prop_explanation *e, gathered *g,
                           const prop_combination *combination, oracle_cos_sin_dd r);

/* A bitwise arithmetic with one table (attention factor included) against all heads; if not, *head
 * is the first that differs. */
bool prop_steps_match(const prop_explanation *e, gathered *g, prop_arithmetic arithmetic, double c,
                      double s, int64_t *head);

/* 16-bit storage: whether the candidates at both ends of a range speak for all between, and how. */
bool prop_judge_range(const prop_explanation *e, const prop_row *row, int64_t pair, gathered *g,
                      const prop_combination *combination, const double change[2],
                      judgement *verdict);

#endif

/* One figure: a kernel on a spec, a shape and a mode, timed beside its floors and then checked
 * against the oracle. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "bench/buffers.h"
#include "bench/gbench_shim.h"
#include "bench/statistics.h"
#include "impl/error.h"
#include "impl/rope.h"
#include "impl/spec/spec.h"
#include "oracle/oracle.h"

typedef enum bench_mode {
    BENCH_APPLY = 0,      /* the plan is made beforehand */
    BENCH_PLAN_APPLY = 1, /* plan, apply and destroy, each time */
    BENCH_COLD = 2,       /* a whole process that does so once; see bench/process.h */
} bench_mode;

/* "apply", "plan+apply", "process-cold". */
const char *bench_mode_name(bench_mode mode);

/* A spec with all that its points share. */
typedef struct bench_problem {
    char *text; /* as the user wrote it: the spec column */
    rope_spec spec;
    rope_frequencies frequencies;
    oracle *oracle;
} bench_problem;

/* with_oracle false: for bench_once alone, which starts faster without. */
bool bench_problem_new(const char *text, bool with_oracle, bench_problem *problem,
                       rope_error *error);
void bench_problem_free(bench_problem *problem);

typedef struct bench_point {
    const rope_kernel *kernel;
    const bench_problem *problem;
    rope_dtype dtype;
    int64_t tokens, heads;
    int64_t last_position; /* of the tokens, which are the last ones up to it */
    bench_mode mode;
    bool in_place; /* y is x; only where the kernel says ROPE_IN_PLACE */
} bench_point;

typedef struct bench_effort {
    int rounds;             /* even, >= 6: samples of every figure */
    double seconds;         /* of each sample; a sample is at least one call */
    uint64_t seed;          /* of the data */
    int64_t checked_tokens; /* how many of a tensor's tokens are compared with the oracle */
    /* Buffers to go on using when the next point has the same size, or NULL; the caller frees what
     * it holds in the end. Touching 128 MiB afresh takes longer than timing them. */
    bench_buffers *kept;
} bench_effort;

typedef enum bench_verdict {
    BENCH_PASS = 0,        /* every checked pair is within the kernel's contract */
    BENCH_FAIL = 1,        /* one is not, or elements that only need copying differ */
    BENCH_NO_CONTRACT = 2, /* the kernel claims nothing at a checked position */
    BENCH_SKIP = 3,        /* not measured: the reason says why */
} bench_verdict;

/* "pass", "fail", "no contract", "skip". */
const char *bench_verdict_name(bench_verdict verdict);

typedef struct bench_result {
    bench_verdict verdict;
    char reason[256];       /* of all verdicts but a pass */
    int64_t bytes;          /* of the tensor x */
    bench_interval ns;      /* per element of x; all elements count, rotated or copied */
    int samples;            /* rounds */
    double gigabytes_per_s; /* 2 bytes / time: read once, written once */
    /* The kernel's time over the floor's, of one round each; 1 is as fast as memory, lower is
     * faster. */
    bench_interval ratio_memcpy, ratio_scale;
    double memcpy_ns, scale_ns;  /* medians, per element */
    double floor_spread;         /* the larger interquartile range / median of the two floors */
    double max_error_u, bound_u; /* over the checked tokens; bound: the largest contract there */
    int64_t first_position, last_position, plan_bytes;
} bench_result;

/* Where the grid's tensors end: at the end of a context of 131072 (128k) positions. */
enum { BENCH_LAST_POSITION = 131071 };

/* Measures. False only where nothing can be measured at all (memory, Google Benchmark); a kernel
 * that refuses or fails has a verdict. */
bool bench_measure(const bench_point *point, const bench_effort *effort, bench_result *result,
                   rope_error *error);

/* Bytes of the tensor x. */
int64_t bench_point_bytes(const bench_point *point);

/* The parts of bench_measure that any timed thing shares. A result of a tensor of so many bytes,
 * nothing known; x and y for it, from those that effort keeps where they have the size, and back;
 * subject in rounds beside memcpy and scale of the buffers, times per element. */
void bench_result_init(bench_result *result, int64_t bytes);
bool bench_take_buffers(const bench_effort *effort, size_t bytes, bench_buffers *buffers,
                        rope_error *error);
void bench_give_buffers(const bench_effort *effort, bench_buffers *buffers);
bool bench_time_beside_floors(const bench_subject *subject, uint32_t dtype,
                              const bench_buffers *buffers, double elements,
                              const bench_effort *effort, bench_result *result, rope_error *error);

/* What a kernel's status says, for a person. */
const char *bench_status_text(rope_status status);

/* Checks alone, untimed, as bench_measure does. */
bool bench_verify(const bench_point *point, const bench_effort *effort, bench_result *result,
                  rope_error *error);

/* Plans, applies once and destroys, out of place: what a cold process does. kernel NULL: copies. */
bool bench_once(const bench_point *point, uint64_t seed, rope_error *error);

#endif

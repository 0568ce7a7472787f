/* The kernels that this build knows, from impl/registry.def, and what this machine can run of them.
 */
#ifndef ROPE_REGISTRY_H
#define ROPE_REGISTRY_H

#include "impl/error.h"
#include "impl/rope.h"

/* All descriptors in the order of registry.def; *count is set. The array is static. */
const rope_header *const *rope_registry(size_t *count);

/* The rotation kernel of that name, or NULL. */
const rope_kernel *rope_registry_find(const char *name);

/* The kernel of that name, whatever its kind, or NULL. */
const rope_header *rope_registry_find_any(const char *name);

/* The name that a well-formed descriptor carries. */
const char *rope_header_name(const rope_header *header);

/* ROPE_CPU_* bits of this machine (and its operating system: XGETBV is asked). */
uint32_t rope_cpu_features(void);

/* Writes the names of feature bits, "avx2+fma", or "none". */
void rope_cpu_features_text(uint32_t features, char *text, size_t size);

/* Whether a descriptor is well formed: abi, size, kind, known flags, name, functions present,
 * pairings and dtypes known. False with a reason. Used for the registry in a test and for every
 * plug-in. */
bool rope_kernel_check(const rope_header *header, rope_error *error);

/* Names of enum values as specs, rows and options write them: "half", "f32"; NULL for an unknown
 * value. */
const char *rope_pairing_name(uint32_t pairing);
const char *rope_dtype_name(uint32_t dtype);
/* The value of a name, or -1. */
int rope_dtype_from_name(const char *name);
/* Bytes of an element; u, the unit roundoff (2^-p); eta, the smallest positive subnormal. */
size_t rope_dtype_bytes(uint32_t dtype);
double rope_dtype_unit_roundoff(uint32_t dtype);
double rope_dtype_smallest(uint32_t dtype);

#endif

/* Which kernels, specs and dtypes a command means: what --kernel, --spec and --dtype say, or all
 * kernels of the registry on five presets. */
#ifndef PROPS_CERTIFY_SELECT_H
#define PROPS_CERTIFY_SELECT_H

#include "props/certify.h"
#include "props/verify_plugins.h"
#include "scripts/front/front.h"

enum { CERTIFY_SUBJECTS = 512, CERTIFY_SPECS = 64, CERTIFY_KERNELS = 128 };

typedef struct certify_selection {
    bool all_kernels; /* of the registry, or of the plug-ins given */
    prop_plugins plugins;
    const rope_kernel *kernels[CERTIFY_KERNELS];
    const char *paths[CERTIFY_KERNELS]; /* the plug-in that holds it, or NULL */
    int kernel_count;
    const char *spec_texts[CERTIFY_SPECS];
    rope_spec specs[CERTIFY_SPECS][2]; /* as given; in the other pairing */
    char *turned_texts[CERTIFY_SPECS]; /* canonical text of the latter */
    int spec_count;
    uint32_t dtypes; /* bits; 0: f32, or a kernel's first */
} certify_selection;

/* kernels "A,B" or NULL: all of the plug-ins given, or of the registry; dtypes "f32,..", "all" or
 * NULL. False with a line; certify_select_free either way. */
bool certify_select(certify_selection *s, const char *kernels, const front_values *plugins,
                    const front_values *specs, const char *dtypes, rope_error *error);
void certify_select_free(certify_selection *s);

/* Whether it is one kernel, one spec and one dtype. */
bool certify_select_single(const certify_selection *s);

/* The text of the spec that a subject is about: as given, or canonical where its pairing is not the
 * given one. */
const char *certify_select_text(const certify_selection *s, int spec,
                                const certify_subject *subject);

/* Subjects of one spec, at most CERTIFY_SUBJECTS. Of the whole registry, a kernel that lacks the
 * spec's pairing is taken in the other one (the angles are the same), and what it refuses is
 * handed to skip; a kernel that was named must take what was asked. */
bool certify_select_subjects(
    const certify_selection *s, int spec, rope_truth truth, int64_t position,
    void (*skip)(void *context, const char *spec, const rope_error *reason), void *context,
    certify_subject *subjects, int *count, rope_error *error);

#endif

#include "impl/spec/sources.h"

#include <string.h>

#include "impl/spec/presets.h"

bool rope_spec_from_path(const char *path, rope_spec *spec, rope_error *error)
{
    (void)spec;
    char nearest[200];
    rope_presets_nearest(path, nearest, sizeof nearest);
    return rope_fail(error,
                     "unknown preset '%s', nearest: %s; expected one of `tightrope list presets`, "
                     "a path, or key=value,...",
                     path, nearest);
}

/* Rows of `tightrope list presets` and `list scalings`. */
#ifndef FRONT_LIST_SPECS_H
#define FRONT_LIST_SPECS_H

#include "scripts/front/rows.h"

#define LIST_PRESETS_COLUMNS                                                                       \
    "name,head_dim,rotary_dim,base,pairing,scaling,trained_length,spec,source,layers"
#define LIST_SCALINGS_COLUMNS "name,formula,keys,disagreement"

void list_presets(rows_writer *w);
void list_scalings(rows_writer *w);

#endif

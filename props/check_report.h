/* What `tightrope check` says of verdicts. */
#ifndef PROPS_CHECK_REPORT_H
#define PROPS_CHECK_REPORT_H

#include "props/dump_check.h"

/* To stdout; k: NULL = none. */
void prop_check_print(const prop_verdict *q, const prop_verdict *k);

/* Errors by pair and by position as CSV; path "" or "-" is stdout. False with a line. */
bool prop_check_write_csv(const char *path, const prop_verdict *q, const prop_verdict *k,
                          rope_error *error);

#endif

/* Declarations of all verbs. */
#ifndef FRONT_VERBS_H
#define FRONT_VERBS_H

#include "scripts/front/front.h"

front_verb verb_list;     /* scripts/front/list.c */
front_verb verb_oracle;   /* oracle/verb_oracle.c */
front_verb verb_verify;   /* props/verb_verify.c */
front_verb verb_check;    /* props/verb_check.c */
front_verb verb_identify; /* props/verb_identify.c */
front_verb verb_certify;  /* props/verb_certify.c */
front_verb verb_merge;    /* props/verb_merge.c */
front_verb verb_hunt;     /* props/verb_hunt.c */
front_verb verb_dump;     /* props/verb_dump.c */
front_verb verb_bench;    /* bench/verb_bench.c */
front_verb verb_compare;  /* bench/verb_compare.c */
front_verb verb_pick;     /* bench/verb_pick.c */
front_verb verb_report;   /* reports/verb_report.c */

#endif

/* Facts of the machine that figures depend on, as text. What the system does not tell is
 * "not available", never an error: virtual machines hide the governor and the counters. */
#ifndef FRONT_MACHINE_H
#define FRONT_MACHINE_H

#include <stddef.h>

#define MACHINE_UNKNOWN "not available"

typedef struct machine_fact {
    const char *name;
    char value[4096]; /* the longest is the kernel's list of CPU flags, about 1500 bytes */
} machine_fact;

enum { MACHINE_FACTS = 16 };

/* Fills facts[] and returns how many. */
int machine_facts(machine_fact facts[MACHINE_FACTS]);

/* The 1, 5 and 15 minute load averages, "0.10 0.20 0.30". */
void machine_load(char *text, size_t size);

#endif

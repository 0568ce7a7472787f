#include "impl/controls.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    int at;
    const char *name; /* NULL ends a list */
} named_bit;

/* Intel SDM volume 1, 8.1.5 and 10.2.3; Arm ARM, FPCR. */
static const struct {
    const char *name;
    named_bit modes[5];
    struct {
        int at; /* of two bits */
        const char *name, *values[4];
    } fields[3];
    named_bit exceptions[7];
    bool set_masks; /* a set bit masks its exception; else it lets the exception trap */
} words[] = {
    [ROPE_CONTROL_MXCSR] =
        {.name = "MXCSR control bits were",
         .modes = {{15, "flush-to-zero"}, {6, "denormals-are-zero"}},
         .fields = {{13, "rounding", {"to nearest", "downward", "upward", "towards zero"}}},
         .exceptions = {{7, "invalid"},
                        {8, "denormal"},
                        {9, "divide-by-zero"},
                        {10, "overflow"},
                        {11, "underflow"},
                        {12, "inexact"}},
         .set_masks = true},
    [ROPE_CONTROL_X87] =
        {.name = "x87 control word was",
         .fields = {{10, "rounding", {"to nearest", "downward", "upward", "towards zero"}},
                    {8, "precision", {"of 24 bits", "reserved", "of 53 bits", "of 64 bits"}}},
         .exceptions = {{0, "invalid"},
                        {1, "denormal"},
                        {2, "divide-by-zero"},
                        {3, "overflow"},
                        {4, "underflow"},
                        {5, "inexact"}},
         .set_masks = true},
    [ROPE_CONTROL_FPCR] =
        {.name = "FPCR control bits were",
         .modes = {{24, "flush-to-zero"},
                   {19, "flush-to-zero of f16"},
                   {25, "default NaN"},
                   {26, "alternative f16"}},
         .fields = {{22, "rounding", {"to nearest", "upward", "downward", "towards zero"}}},
         .exceptions = {{8, "invalid"},
                        {15, "denormal"},
                        {9, "divide-by-zero"},
                        {10, "overflow"},
                        {11, "underflow"},
                        {12, "inexact"}}},
};

/* True, for the caller to note that a word stands there. */
static bool add(char *text, size_t size, const char *before, const char *word)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", before, word);
    return true;
}

static unsigned field(uint64_t word, int at)
{
    return (unsigned)(word >> at & 3);
}

void rope_control_change(rope_control which, uint64_t before, uint64_t after, char *text,
                         size_t size)
{
    uint64_t changed = before ^ after, named = 0;
    bool any = false; /* a word stands after the colon */
    snprintf(text, size, "%s %#llx and became %#llx", words[which].name, (unsigned long long)before,
             (unsigned long long)after);
    for (const named_bit *b = words[which].modes; b->name != NULL; b++) {
        named |= UINT64_C(1) << b->at;
        if (!(changed >> b->at & 1))
            continue;
        any = add(text, size, any ? ", " : ": ", b->name);
        add(text, size, " ", after >> b->at & 1 ? "on" : "off");
    }
    for (int i = 0; words[which].fields[i].name != NULL; i++) {
        int at = words[which].fields[i].at;
        named |= UINT64_C(3) << at;
        if (field(before, at) == field(after, at))
            continue;
        any = add(text, size, any ? ", " : ": ", words[which].fields[i].name);
        add(text, size, " ", words[which].fields[i].values[field(after, at)]);
        add(text, size, ", not ", words[which].fields[i].values[field(before, at)]);
    }
    for (int masked = 0; masked < 2; masked++) {
        bool first = true;
        for (const named_bit *b = words[which].exceptions; b->name != NULL; b++) {
            named |= UINT64_C(1) << b->at;
            if (!(changed >> b->at & 1) ||
                (int)((after >> b->at & 1) == words[which].set_masks) != masked)
                continue;
            if (first)
                any = add(text, size, any ? ", " : ": ",
                          masked ? "exceptions masked:" : "exceptions unmasked:");
            first = false;
            add(text, size, " ", b->name);
        }
    }
    if (changed & ~named)
        add(text, size, any ? ", " : ": ", "bits without a name here");
}

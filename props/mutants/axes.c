/* Faults of which position axis turns a pair: F31. Right wherever there is one axis, and for a
 * token whose positions are equal on all axes (text). */
#include "props/mutants/common.h"

static bool has_sections(const rope_plan *p)
{
    return p->spec.axes == ROPE_AXES_MROPE || p->spec.axes == ROPE_AXES_MROPE_INTERLEAVED;
}

/* h takes w's positions, and w h's. */
static void swap_last_axes(rope_plan *p)
{
    uint8_t last = (uint8_t)(p->args.axis_count - 1);
    if (p->args.axis_count < 2)
        return;
    for (int64_t i = 0; i < p->args.pairs; i++)
        if (p->axis[i] == last)
            p->axis[i] = (uint8_t)(last - 1);
        else if (p->axis[i] == last - 1)
            p->axis[i] = last;
}
static const mutant_hooks section_order_hooks = {.alter = swap_last_axes};
MUTATION(section_order, "F31", "the last two position axes are swapped (h and w)",
         .example = "head_dim=32,base=10000,pairing=half,axes=mrope,sections=5:9:2");

/* Contiguous sections where they are interleaved, and interleaved ones where they are contiguous.
 */
static void other_layout(rope_plan *p)
{
    int64_t sections[ROPE_MAX_AXES] = {0}, next = 0;
    if (!has_sections(p) || p->args.axis_count != 3)
        return;
    for (int64_t i = 0; i < p->args.pairs; i++)
        sections[p->axis[i]]++;
    if (p->spec.axes == ROPE_AXES_MROPE_INTERLEAVED) {
        for (uint8_t a = 0; a < 3; a++)
            for (int64_t k = 0; k < sections[a]; k++)
                p->axis[next++] = a;
        return;
    }
    for (int64_t i = 0; i < p->args.pairs; i++)
        p->axis[i] = (uint8_t)(i % 3 != 0 && i < 3 * sections[i % 3] ? i % 3 : 0);
}
static const mutant_hooks section_layout_hooks = {.alter = other_layout};
MUTATION(section_layout, "F31", "contiguous sections for interleaved ones, and the reverse",
         .example = "head_dim=32,base=10000,pairing=half,axes=mrope,sections=5:9:2");

static void first_axis_only(rope_plan *p)
{
    for (int64_t i = 0; i < p->args.pairs; i++)
        p->axis[i] = 0;
}
static const mutant_hooks section_ignored_hooks = {.alter = first_axis_only};
MUTATION(section_ignored, "F31", "every pair turns by the first position axis",
         .example = "head_dim=32,base=10000,pairing=half,axes=mrope,sections=5:9:2");

#include "impl/spec/presets.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Factors of pair 0, 1, ...: rope_scaling of microsoft/Phi-3.5-mini-instruct. */
/* clang-format off */
#define PHI_35_MINI_SHORT \
    "1:1.0199999809265137:1.0299999713897705:1.0299999713897705:1.0499999523162842" \
    ":1.0499999523162842:1.0499999523162842:1.0499999523162842:1.0499999523162842" \
    ":1.0699999332427979:1.0999999046325684:1.1099998950958252:1.1599998474121094" \
    ":1.1599998474121094:1.1699998378753662:1.2899998426437378:1.339999794960022" \
    ":1.679999828338623:1.7899998426437378:1.8199998140335083:1.8499997854232788" \
    ":1.8799997568130493:1.9099997282028198:1.9399996995925903:1.9899996519088745" \
    ":2.0199997425079346:2.0199997425079346:2.0199997425079346:2.0199997425079346" \
    ":2.0199997425079346:2.0199997425079346:2.0299997329711914:2.0299997329711914" \
    ":2.0299997329711914:2.0299997329711914:2.0299997329711914:2.0299997329711914" \
    ":2.0299997329711914:2.0299997329711914:2.0299997329711914:2.0799996852874756" \
    ":2.0899996757507324:2.189999580383301:2.2199995517730713:2.5899994373321533" \
    ":2.729999542236328:2.749999523162842:2.8399994373321533"
#define PHI_35_MINI_LONG \
    "1.0800000429153442:1.1100000143051147:1.1399999856948853:1.340000033378601" \
    ":1.5899999141693115:1.600000023841858:1.6200000047683716:2.620000123977661" \
    ":3.2300000190734863:3.2300000190734863:4.789999961853027:7.400000095367432" \
    ":7.700000286102295:9.09000015258789:12.199999809265137:17.670000076293945:24.46000099182129" \
    ":28.57000160217285:30.420001983642578:30.840002059936523:32.590003967285156" \
    ":32.93000411987305:42.320003509521484:44.96000289916992:50.340003967285156" \
    ":50.45000457763672:57.55000305175781:57.93000411987305:58.21000289916992:60.1400032043457" \
    ":62.61000442504883:62.62000274658203:62.71000289916992:63.1400032043457:63.1400032043457" \
    ":63.77000427246094:63.93000411987305:63.96000289916992:63.970001220703125:64.02999877929688" \
    ":64.06999969482422:64.08000183105469:64.12000274658203:64.41000366210938:64.4800033569336" \
    ":64.51000213623047:64.52999877929688:64.83999633789062"
/* clang-format on */

static const rope_preset presets[] = {
#define PRESET(name, trained, spec, layers, source) {name, spec, trained, layers, source, false},
#define PRESET_WITHOUT_LISTS(name, trained, spec, layers, source)                                  \
    {name, spec, trained, layers, source, true},
#include "impl/spec/presets.def"
#undef PRESET
#undef PRESET_WITHOUT_LISTS
};
enum { PRESETS = sizeof presets / sizeof presets[0] };

const rope_preset *rope_presets(size_t *count)
{
    *count = PRESETS;
    return presets;
}

const rope_preset *rope_preset_find(const char *name)
{
    for (size_t i = 0; i < PRESETS; i++)
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    return NULL;
}

/* Levenshtein distance of the first 63 characters of each. */
static unsigned distance(const char *a, const char *b)
{
    enum { LIMIT = 63 };
    size_t m = strnlen(a, LIMIT), n = strnlen(b, LIMIT);
    unsigned row[LIMIT + 1];
    for (size_t j = 0; j <= n; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= m; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= n; j++) {
            unsigned change = diagonal + (a[i - 1] != b[j - 1]);
            unsigned least = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = change < least ? change : least;
        }
    }
    return row[n];
}

void rope_presets_nearest(const char *name, char *text, size_t size)
{
    size_t used = 0;
    uint8_t shown[PRESETS] = {0};
    text[0] = '\0';
    for (int rank = 0; rank < 3; rank++) {
        size_t best = PRESETS;
        for (size_t i = 0; i < PRESETS; i++)
            if (!shown[i] && (best == PRESETS ||
                              distance(name, presets[i].name) < distance(name, presets[best].name)))
                best = i;
        if (best == PRESETS || used >= size)
            return;
        shown[best] = 1;
        used += (size_t)snprintf(text + used, size - used, "%s%s", rank == 0 ? "" : ", ",
                                 presets[best].name);
    }
}

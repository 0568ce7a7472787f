/* check on small dumps of any content: three bytes pick types, layout, shape, spec and the first
 * position, the rest is data of both tensors. identify takes a second each, and is not run. */
#include "impl/fuzz_file.h"
#include "props/dump_check.h"
#include "props/identify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD_DIM = 8, CHOICES = 3, SPECS = 3 };

static const char *const texts[SPECS] = {
    "head_dim=8,rotary_dim=6,base=10000,pairing=half",
    "head_dim=8,base=1e4,pairing=interleaved,scaling=llama3,factor=8,low=1,high=4,original=8192",
    "head_dim=8,rotary_dim=4,rotary_offset=2,base=100,pairing=half,attention_factor=1.5",
};
static rope_spec specs[SPECS];

static const struct {
    const char *text;
    size_t bytes;
} types[] = {{"<f4", 4}, {"<f8", 8}, {"<f2", 2}, {"<u2", 2}};

typedef struct choice {
    int input, output; /* of types */
    bool fortran;
    prop_layout layout;
    int tokens, heads, batches;
    const rope_spec *spec;
    int jobs, first;
} choice;

static choice choose(const uint8_t *bytes)
{
    return (choice){.input = bytes[0] & 3,
                    .output = bytes[0] >> 2 & 3,
                    .fortran = bytes[0] >> 4 & 1,
                    .layout = (prop_layout)((bytes[0] >> 5) % (PROP_LAYOUT_BTHD + 1)),
                    .tokens = 1 + (bytes[1] & 3),
                    .heads = 1 + (bytes[1] >> 2 & 1),
                    .batches = 1 + (bytes[1] >> 3 & 1),
                    .spec = &specs[(bytes[1] >> 4 & 3) % SPECS],
                    .jobs = 1 + (bytes[1] >> 7), /* a thread takes longer than the rest */
                    .first = (int8_t)bytes[2]};
}

/* The shape of a tensor in its layout, as a tuple of Python; the number of elements. */
static size_t describe(const choice *c, char *shape, size_t size)
{
    int t = c->tokens, h = c->heads, b = c->batches;
    switch (c->layout) {
    case PROP_LAYOUT_TD:
        snprintf(shape, size, "(%d, %d)", t, HEAD_DIM);
        return (size_t)(t * HEAD_DIM);
    case PROP_LAYOUT_BHTD:
    case PROP_LAYOUT_BTHD:
        snprintf(shape, size, "(%d, %d, %d, %d)", b, c->layout == PROP_LAYOUT_BHTD ? h : t,
                 c->layout == PROP_LAYOUT_BHTD ? t : h, HEAD_DIM);
        return (size_t)(b * h * t * HEAD_DIM);
    case PROP_LAYOUT_HTD:
        snprintf(shape, size, "(%d, %d, %d)", h, t, HEAD_DIM);
        return (size_t)(h * t * HEAD_DIM);
    default:
        snprintf(shape, size, "(%d, %d, %d)", t, h, HEAD_DIM);
        return (size_t)(h * t * HEAD_DIM);
    }
}

/* A .npy whose data are the bytes from *at on, again and again. */
static fuzz_file make(const choice *c, int type, const uint8_t *bytes, size_t count, size_t *at)
{
    char file[2048], shape[64];
    size_t data = describe(c, shape, sizeof shape) * types[type].bytes;
    int header =
        snprintf(file, 128, "\x93NUMPY\x01_v_{'descr': '%s', 'fortran_order': %s, 'shape': %s}",
                 types[type].text, c->fortran ? "True" : "False", shape);
    memset(file + header, ' ', (size_t)(128 - header));
    memcpy(file + 7, "\0\x76\0", 3); /* version 1.0, 118 bytes of header */
    file[127] = '\n';
    for (size_t i = 0; i < data; i++)
        file[128 + i] = (char)bytes[(*at)++ % count];
    return fuzz_file_open(file, 128 + data);
}

static void judge(prop_dump *dump, const choice *c)
{
    rope_error error = {""};
    prop_verdict verdict;
    prop_sample sample;
    if (!prop_dump_check(dump, c->spec, &(prop_check_options){.jobs = c->jobs}, &verdict, &error))
        fuzz_refused(&error);
    else if (verdict.reason[0] == '\0' || strchr(verdict.reason, '\n') != NULL)
        abort();
    else
        prop_verdict_free(&verdict);
    if (!prop_sample_read(dump, &sample, &error))
        abort();
    prop_sample_free(&sample);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rope_error error = {""};
    for (int i = 0; i < SPECS && specs[i].head_dim == 0; i++)
        if (!rope_spec_parse(texts[i], &specs[i], &error))
            abort();
    if (size <= CHOICES)
        return 0;
    choice c = choose(data);
    size_t at = 0;
    fuzz_file input = make(&c, c.input, data + CHOICES, size - CHOICES, &at);
    fuzz_file output = make(&c, c.output, data + CHOICES, size - CHOICES, &at);
    char positions[64];
    snprintf(positions, sizeof positions, "%d:%d", c.first, c.first + c.tokens);
    prop_dump dump;
    if (!prop_dump_open(input.path, output.path, positions, c.layout, &dump, &error))
        abort(); /* all of these are dumps */
    judge(&dump, &c);
    prop_dump_close(&dump);
    fuzz_file_close(&input);
    fuzz_file_close(&output);
    return 0;
}

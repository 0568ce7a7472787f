/* `tightrope identify`: which spec and which fault explain a dump. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "props/dump_options.h"
#include "props/identify.h"
#include "scripts/front/rows.h"
#include "scripts/front/verbs.h"

static const char synopsis[] =
    "identify --input X.npy --output Y.npy [--positions P] [--spec S] [--layout L] "
    "[--angle any|f64] [--input-k XK.npy --output-k YK.npy] [--csv[=FILE]]";

static bool identify_one(const prop_dump_arguments *a, bool k, const rope_spec *declared,
                         prop_identity *identity, rope_error *error)
{
    prop_dump dump;
    prop_sample sample;
    uint32_t angles;
    if (!prop_dump_arguments_open(a, k, &dump, &angles, error))
        return false;
    bool good = prop_sample_read(&dump, &sample, error);
    if (good) {
        good = prop_identify(&sample, declared, angles, identity, error);
        prop_sample_free(&sample);
    }
    prop_dump_close(&dump);
    return good;
}

static void print_answer(const prop_answer *a, const char *tensor)
{
    printf("spec: %s\nfault: %s\n", a->spec, a->fault);
    if (tensor != NULL)
        printf("tensor: %s\n", tensor);
    if (a->detail[0] != '\0')
        printf("detail: %s\n", a->detail);
    if (a->follows[0] != '\0')
        printf("follows: %s\n", a->follows);
    if (a->pipeline[0] != '\0')
        printf("pipeline: %s\n", a->pipeline);
    if (a->presets[0] != '\0')
        printf("presets: %s\n", a->presets);
    printf("residual: %.4g u root mean square against exact angles\n", a->residual_u);
}

static void print_identity(const char *tensor, const prop_identity *id)
{
    if (!id->told)
        printf("cannot tell%s%s%s: %s\n", tensor != NULL ? " of " : "",
               tensor != NULL ? tensor : "", id->fitting > 1 ? ", these fit alike" : "",
               id->decide);
    for (int i = 0; i < id->fitting && i < id->count; i++)
        print_answer(&id->answers[i], tensor);
    if (id->count > id->fitting)
        printf("runners-up:\n");
    for (int i = id->fitting; i < id->count; i++)
        printf("  %.4g u  fault: %s  spec: %s%s%s\n", id->answers[i].residual_u,
               id->answers[i].fault,
               id->answers[i].follows[0] ? id->answers[i].follows : id->answers[i].spec,
               id->answers[i].detail[0] ? "  " : "", id->answers[i].detail);
}

static bool write_csv(const char *path, const prop_identity *q, const prop_identity *k,
                      rope_error *error)
{
    rows_writer *w = rows_create(
        path, "tensor,rank,explains,fault,detail,spec,follows,pipeline,residual_u", error);
    if (w == NULL)
        return false;
    for (int pass = 0; pass < (k != NULL ? 2 : 1); pass++) {
        const prop_identity *id = pass == 0 ? q : k;
        for (int i = 0; i < id->count; i++) {
            const prop_answer *a = &id->answers[i];
            rows_text(w, pass == 0 ? "q" : "k");
            rows_integer(w, i + 1);
            rows_text(w, a->explains ? "yes" : "no");
            rows_text(w, a->fault);
            rows_text(w, a->detail);
            rows_text(w, a->spec);
            rows_text(w, a->follows);
            rows_text(w, a->pipeline);
            rows_number(w, a->residual_u);
            rows_end(w);
        }
    }
    return rows_commit(w, error);
}

static void print_joint(const prop_identity *q, const prop_identity *k)
{
    const char *joint = prop_joint_fault(q, k);
    if (joint != NULL) {
        printf("spec: %s\nfault: %s\n", q->answers[0].spec, joint);
        printf("detail: q and k are rotated differently: scores depend on absolute positions\n");
    } else if (q->told && k->told && strcmp(q->answers[0].fault, k->answers[0].fault) == 0) {
        print_answer(&q->answers[0], "q and k alike");
        return;
    }
    /* The one with something to say comes first. */
    bool k_first = q->told && strcmp(q->answers[0].fault, "none") == 0 && joint == NULL;
    print_identity(k_first ? "k" : "q", k_first ? k : q);
    print_identity(k_first ? "q" : "k", k_first ? q : k);
}

static int run(const prop_dump_arguments *a)
{
    rope_error error;
    rope_spec spec;
    const rope_spec *declared = a->spec != NULL ? &spec : NULL;
    if (a->spec != NULL && !rope_spec_parse(a->spec, &spec, &error))
        return front_usage("identify", "%s", error.text);
    prop_identity *q = calloc(2, sizeof *q), *k = q != NULL ? q + 1 : NULL;
    bool good = q != NULL || rope_fail(&error, "out of memory");
    good = good && identify_one(a, false, declared, q, &error) &&
           (a->input_k == NULL || identify_one(a, true, declared, k, &error));
    const prop_identity *second = a->input_k != NULL ? k : NULL;
    bool to_stdout = prop_dump_csv_to_stdout(a);
    if (good && a->csv != NULL)
        good = write_csv(a->csv, q, second, &error);
    if (good && !to_stdout && second != NULL)
        print_joint(q, second);
    else if (good && !to_stdout)
        print_identity(NULL, q);
    int status = !good                             ? front_usage("identify", "%s", error.text)
                 : q->told && (!second || k->told) ? FRONT_HOLDS
                                                   : FRONT_FAILS;
    free(q);
    if (declared != NULL)
        rope_spec_free(&spec);
    return status;
}

int verb_identify(int argc, char **argv)
{
    prop_dump_arguments a = {0};
    const prop_dump_helps helps = {
        .positions = "a:b, a:b:step, a comma list, or a .npy; without: consecutive ones, or what "
                     "the angles tell",
        .spec = "what it should be: then a right RoPE of another spec is a fault",
        .angle = "f64: f32 angles are a fault",
        .input_k = "the same of k, seen together with q",
        .csv = "the answers as CSV"};
    front_option options[PROP_DUMP_OPTIONS + 1] = {0};
    prop_dump_options(&a, &helps, options);
    int status = front_parse(argc, argv, synopsis,
                             "Says which spec and which fault explain a dump, or that it cannot "
                             "tell and what would decide (exit 1).",
                             options, NULL);
    if (status == -1)
        status = prop_dump_arguments_check("identify", &a);
    return status != -1 ? status : run(&a);
}

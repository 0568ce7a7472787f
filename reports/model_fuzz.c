/* The rows of a report: refused with one line, or taken, and then every field is there. */
#include "impl/fuzz_file.h"
#include "reports/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(const report_rows *rows)
{
    static const char *const columns[] = {"run", "kernel", "spec", "verdict", "bound_u", "none"};
    for (size_t r = 0; r < rows->count; r++)
        for (int c = 0; c < 6; c++) {
            report_number(rows->items[r], columns[c]);
            report_is(rows->items[r], columns[c], "");
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_file file = fuzz_file_open(data, size);
    const char *path = file.path;
    report_model model;
    rope_error error = {""};
    if (report_load(&path, 1, &model, &error)) {
        read_all(&model.verify);
        read_all(&model.bench);
        read_all(&model.mutants);
        read_all(&model.stages);
        read_all(&model.drift);
        read_all(&model.papers);
        report_free(&model);
    } else {
        fuzz_refused(&error);
    }
    fuzz_file_close(&file);
    return 0;
}

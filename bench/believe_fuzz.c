/* Rows of bench: refused with one line, or believed, and then their figures are. */
#include <math.h>

#include "bench/believe.h"
#include "impl/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_file file = fuzz_file_open(data, size);
    rows_table table;
    rope_error error = {""};
    if (rows_read(file.path, &table, &error)) {
        int column = rows_column(&table, "ns_per_element");
        if (bench_believe(file.path, &table, &error))
            for (size_t r = 0; column >= 0 && r < table.rows; r++) {
                double ns = rows_field_number(&table, r, column);
                if (*rows_field(&table, r, column) != '\0' && !(isfinite(ns) && ns > 0))
                    abort();
            }
        else
            fuzz_refused(&error);
        rows_free(&table);
    }
    fuzz_file_close(&file);
    return 0;
}

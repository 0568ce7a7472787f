/* CSV: refused with one line, or read, and then what is written of it reads back the same. */
#include "impl/fuzz_file.h"
#include "scripts/front/rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The header is ours: the writer takes plain names, and the reader any. */
static char *header(size_t columns)
{
    char *names = malloc(2 * columns);
    for (size_t i = 0; names != NULL && i < columns; i++) {
        names[2 * i] = 'c';
        names[2 * i + 1] = i + 1 < columns ? ',' : '\0';
    }
    return names;
}

static void write_and_read(const rows_table *table)
{
    static char path[64];
    rope_error error;
    rows_table again;
    char *names = header(table->columns);
    /* A commit waits for the disk, unless the file lies in memory. */
    snprintf(path, sizeof path, "%s/rows_fuzz.%ld",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
    rows_writer *w = names != NULL ? rows_create(path, names, &error) : NULL;
    if (w == NULL)
        abort();
    for (size_t r = 0; r < table->rows; r++) {
        for (size_t c = 0; c < table->columns; c++)
            rows_text(w, rows_field(table, r, (int)c));
        rows_end(w);
    }
    if (!rows_commit(w, &error) || !rows_read(path, &again, &error) ||
        again.columns != table->columns || again.rows != table->rows)
        abort();
    for (size_t i = 0; i < table->rows * table->columns; i++)
        if (strcmp(again.fields[i], table->fields[i]) != 0)
            abort();
    rows_free(&again);
    unlink(path);
    free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_file file = fuzz_file_open(data, size);
    rows_table table;
    rope_error error = {""};
    if (rows_read(file.path, &table, &error)) {
        for (size_t r = 0; r < table.rows; r++)
            for (size_t c = 0; c < table.columns; c++)
                rows_field_number(&table, r, (int)c);
        if (size % 4 == 0) /* files are slow */
            write_and_read(&table);
        rows_free(&table);
    } else {
        fuzz_refused(&error);
    }
    fuzz_file_close(&file);
    return 0;
}

/* The vector kernels hold the instructions that they are named after, whatever CPU builds them:
 * this is all that a machine without AVX-512 can say of those kernels. Reads the objects beside
 * this program with objdump. */
#include <libgen.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Lines of an object's disassembly with an instruction that begins so and an operand that holds
 * that. */
static int count(const char *kernel, const char *instruction, const char *operand)
{
    char self[PATH_MAX] = {0}, command[PATH_MAX + 128], line[512];
    if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0)
        return -1;
    snprintf(command, sizeof command, "objdump -d --no-show-raw-insn '%s/%s.o' 2>/dev/null",
             dirname(self), kernel);
    FILE *in = popen(command, "r");
    int found = 0, lines = 0;
    while (in != NULL && fgets(line, sizeof line, in) != NULL) {
        const char *mnemonic = strstr(line, ":\t");
        lines++;
        found += mnemonic != NULL && strncmp(mnemonic + 2, instruction, strlen(instruction)) == 0 &&
                 strstr(mnemonic, operand) != NULL;
    }
    return in == NULL || pclose(in) != 0 || lines < 10 ? -1 : found;
}

static void kernels_hold_their_instructions(void **state)
{
    (void)state;
#if !defined(__x86_64__)
    print_message("# no x86-64 CPU\n");
    skip();
#endif
    if (system("command -v objdump >/dev/null 2>&1") != 0) {
        print_message("# no objdump (apt-get install binutils)\n");
        skip();
    }
    static const struct {
        const char *kernel, *instruction, *operand;
        int least;
    } rows[] = {
        {"avx2", "vfm", "%ymm", 8},          {"dd", "vfmadd", "%ymm", 20},
        {"phase", "vpmuludq", "%ymm", 2},    {"step", "vfm", "%ymm", 8},
        {"exact_avx2", "vfmadd", "%ymm", 8}, {"f16", "vcvtph2ps", "%ymm", 4},
        {"f16", "vcvtps2ph", "%xmm", 4},     {"bf16", "vpshufb", "%ymm", 4},
        {"avx512", "vfm", "%zmm", 8},        {"dd_avx512", "vfmadd", "%zmm", 20},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int found = count(rows[i].kernel, rows[i].instruction, rows[i].operand);
        if (found < rows[i].least)
            fail_msg("%s has %d of %s with %s, expected %d or more", rows[i].kernel, found,
                     rows[i].instruction, rows[i].operand, rows[i].least);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_hold_their_instructions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Certificates: refused with one line, or read, and then what is written reads back the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "props/certificate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    certificate c, again;
    rope_error error = {""};
    certificate_reading reading = certificate_parse((const char *)data, size, &c, &error);
    if (reading != CERTIFICATE_READ && (error.text[0] == '\0' || strchr(error.text, '\n') != NULL))
        abort();
    if (reading != CERTIFICATE_MALFORMED) {
        /* An edited one holds what the file says: all of it must be safe to use. */
        certificate_consistent(&c, &error);
        char *text = certificate_to_json(&c);
        if (text == NULL ||
            certificate_parse(text, strlen(text), &again, &error) != CERTIFICATE_READ)
            abort();
        certificate_free(&again);
        free(text);
    }
    certificate_free(&c);
    return 0;
}

/* Reader of .safetensors files: one tensor by name, presented as an npy_array, so that whatever
 * reads .npy reads these too. Format: https://huggingface.co/docs/safetensors (8 bytes length,
 * JSON header, data). */
#ifndef PROPS_SAFETENSORS_H
#define PROPS_SAFETENSORS_H

#include "impl/spec/npy.h"

/* Opens tensor `name` of the file (NULL or "": the only one it holds). Checked: the header's length
 * against the file, the JSON, the dtype (F64 F32 F16 BF16 U16 I64 I32 U8), shape and data_offsets
 * against each other and against the file's size. C order. False with one line, which lists the
 * tensors of the file where the name is not among them. Close with npy_close. */
bool safetensors_open(const char *path, const char *name, npy_array *array, rope_error *error);

#endif

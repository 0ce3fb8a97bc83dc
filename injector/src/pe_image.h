// SPDX-License-Identifier: MIT
// What the bytes of a program or a loaded module say about it: for which machine it was built,
// whether it can be started at all, where it keeps an export. The bytes are hostile (any file, any
// process): every read is bounded, nothing loops longer than the tables can be long. No Windows
// calls here, so that all of it runs under the sanitizers.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INJ_MACHINE_X64   0x8664u
#define INJ_MACHINE_X86   0x014cu
#define INJ_MACHINE_ARM64 0xaa64u

typedef enum inj_image_kind {
    INJ_IMAGE_X64,
    INJ_IMAGE_ANYCPU, // .NET, marked as 32-bit in the header but run as a 64-bit process
    INJ_IMAGE_X86,
    INJ_IMAGE_ARM64,
    INJ_IMAGE_OTHER_MACHINE,
    INJ_IMAGE_LIBRARY,     // a DLL
    INJ_IMAGE_NOT_PROGRAM, // an image that Windows does not start as a program: driver, firmware
    INJ_IMAGE_DOS,         // MZ without a PE header
    INJ_IMAGE_DAMAGED,
    INJ_IMAGE_NOT_PE, // anything else: script, text, document
} inj_image_kind;

typedef struct inj_image {
    inj_image_kind kind;
    uint16_t machine;    // 0 if there is no PE header
    uint64_t cli_offset; // kind X86 only: file offset of a .NET header that is yet to be looked at
} inj_image;

#define INJ_IMAGE_HEAD_BYTES 65536u // enough of a file for inj_image_classify
#define INJ_CLI_HEADER_BYTES 72u

// `bytes` are the first `len` bytes of the file.
inj_image inj_image_classify(const uint8_t *bytes, size_t len);

// Turns an X86 image into ANYCPU if the .NET header (the bytes at cli_offset) says so.
void inj_image_apply_cli(inj_image *image, const uint8_t *bytes, size_t len);

// Reads `len` bytes at `rva` of a loaded image; false if any of them can't be had.
typedef bool inj_read_image_fn(void *context, uint32_t rva, void *out, size_t len);

// Finds an export of a 64-bit image by name. False: no such export, a forwarder, or no such image.
bool inj_image_find_export(inj_read_image_fn *read, void *context, const char *name,
                           uint32_t *out_rva);

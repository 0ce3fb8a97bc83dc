// SPDX-License-Identifier: MIT
// Looking into a module that is mapped in this process without asking the loader (whose lock we may
// already hold, or must not wait for).
#pragma once

#include "op_scan.h"

// The size of the image at `base` as its header tells, 0 if there is no 64-bit PE image.
size_t hk_image_size(const uint8_t *base);

// hk_scan_open() for it; false also if a section can't be read: programs that guard themselves take
// away the access to pages of their own.
bool hk_image_scan(hk_scan *s, const uint8_t *base);

// Address of an exported function inside the image; NULL if there is none or it is a forwarder.
void *hk_image_export(const uint8_t *base, const char *name);

// Where the image keeps the address of a function that it imports by name; NULL if it does not.
void **hk_image_import(const uint8_t *base, const char *name);

// True if it imports from a module whose name begins so (case does not matter).
bool hk_image_imports_from(const uint8_t *base, const char *prefix);

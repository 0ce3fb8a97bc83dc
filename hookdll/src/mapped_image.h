// SPDX-License-Identifier: MIT
// Looking into a module that is mapped in this process without asking the loader (whose lock we may
// already hold, or must not wait for).
#pragma once

#include <stddef.h>
#include <stdint.h>

// The size of the image at `base` as its header tells, 0 if there is no 64-bit PE image.
size_t hk_image_size(const uint8_t *base);

// Address of an exported function inside the image; NULL if there is none or it is a forwarder.
void *hk_image_export(const uint8_t *base, const char *name);

// SPDX-License-Identifier: MIT
// Which options are told without their values. Freestanding: the hook DLL uses it too.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CM_HIDDEN "(hidden)"

// `word` is in lower case; the case of the text does not matter.
bool cm_text_contains(const char *text, size_t len, const char *word);

// True if the text names a secret: values of such keys are never told.
bool cm_names_secret(const char *text, size_t len);

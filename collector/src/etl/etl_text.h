// SPDX-License-Identifier: MIT
// Text of an event as UTF-8.
#pragma once

#include "etl_facts.h"

// Into `out`, cut where it does not fit; returns the length. UTF-16 becomes UTF-8, anything else
// stays as it is.
size_t co_etl_text_utf8(etl_text text, char *out, size_t cap);

// The part behind the last slash or backslash.
const char *co_etl_base_name(const char *path);

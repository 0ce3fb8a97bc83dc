// SPDX-License-Identifier: MIT
// How sessions came to be: the phases of their creation, and loading the same model again. Used by
// summary.c only.
#pragma once

#include "analysis/summary.h"

void an_loading_init(an_loading *l);

// One row of a phase block.
void an_loading_add_phase(an_loading *l, const tm_block *b, size_t row);

// Once all sessions are known: which of them load the same model.
cm_status an_loading_find_repeats(an_summary *s);

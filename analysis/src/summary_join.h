// SPDX-License-Identifier: MIT
// The parts of a summary that need more readings. Used by summary.c only.
#pragma once

#include "analysis/summary.h"

void an_summary_forget_join(an_summary *s);

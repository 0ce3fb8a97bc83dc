// SPDX-License-Identifier: MIT
// Opening a timeline for a command, and telling the user when it is not whole.
#pragma once

#include "analysis/source.h"
#include "timeline/timeline.h"

// As tm_reader_open, but a missing file is CM_IO: exit code 3 is for targets only.
cm_status vw_open_timeline(const char *path, tm_reader **out);

// For those who read it several times. Borrows `path`.
an_source vw_source_of(const char *path);

// After the last block: one warning on standard error if bytes were missing or damaged.
void vw_warn_of_damage(const char *path, const char *damage);

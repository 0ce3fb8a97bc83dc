// SPDX-License-Identifier: MIT
// Opening a timeline for a command, and telling the user when it is not whole.
#pragma once

#include "analysis/source.h"
#include "timeline/timeline.h"

// A failure about a file, with the same sentence: exit codes 3, 4 and 5 are about targets only.
cm_status vw_file_failure(cm_status status);

// As tm_reader_open, with such failures.
cm_status vw_open_timeline(const char *path, tm_reader **out);

// CM_FAILED where the file has neither a session nor a run of that number. Reads it once.
cm_status vw_need_session(const char *path, int64_t session);
cm_status vw_no_session(const char *path, int64_t session); // the failure alone

// For those who read it several times. Borrows `path`.
an_source vw_source_of(const char *path);

// After the last block: one warning on standard error if bytes were missing or damaged.
void vw_warn_of_damage(const char *path, const char *damage);

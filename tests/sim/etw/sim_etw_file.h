// SPDX-License-Identifier: MIT
// The host's part of sessions with a file: an .etl as Windows writes it.
#pragma once

#include "sim_etw_record.h"

// Writes what waits to be written in this session; at its end completes the file and closes it.
// Wants the lock not held.
void se_file_work(se_session *s);

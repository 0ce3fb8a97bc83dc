// SPDX-License-Identifier: MIT
// What the kernel tells a system logger about the processes, threads and images that are there:
// those of Wine's processes that it may look at.
#pragma once

#include "sim_etw_record.h"

#define SE_FLAG_PROCESS 0x1u
#define SE_FLAG_THREAD  0x2u
#define SE_FLAG_IMAGE   0x4u

// DCStart (`begins`) or DCEnd events for what `flags` ask for. Takes the lock.
void se_rundown(uint32_t flags, bool begins);

// SPDX-License-Identifier: MIT
// What the kernel tells a system logger about processes, threads and images: those that are there
// when the session starts and stops, and those of this process that come and go.
#pragma once

#include "sim_etw_record.h"

#define SE_FLAG_PROCESS 0x1u
#define SE_FLAG_THREAD  0x2u
#define SE_FLAG_IMAGE   0x4u

typedef enum se_life { SE_COMES = 1, SE_GOES = 2, SE_IS_THERE = 3, SE_WAS_THERE = 4 } se_life;

// Everything that `flags` ask for. Takes the lock, as all of these.
void se_rundown(uint32_t flags, bool begins);

void se_tell_own_process(se_life life);
void se_tell_own_thread(se_life life);
void se_tell_own_image(const void *base, uint32_t bytes, const WCHAR *path, se_life life);

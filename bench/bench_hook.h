// SPDX-License-Identifier: MIT
// The hook DLL in our own process, armed and disarmed at will, so that both states can be measured
// in turn within one run.
#pragma once

#include <stdint.h>

void bench_hook_load(const wchar_t *dll);
double bench_hook_arm(uint32_t flags); // hook_contract.h; milliseconds that it took
void bench_hook_disarm(void);
void bench_hook_leave_memory(void); // as a program has it: fresh until it is written to
uint64_t bench_hook_drain(void);    // records read since armed, so far

// SPDX-License-Identifier: MIT
// A listener to our own provider: ETW's functions are replaced by ones that do nothing but count,
// so that what is measured is our part alone.
#pragma once

#include <stdint.h>

void bench_etw_install(void); // before the hook is armed
// As a session that asks for everything; after it was armed.
void bench_etw_listen(void);

typedef struct bench_etw_written {
    uint64_t events, bytes; // of a recording: headers and descriptions of fields included
} bench_etw_written;
bench_etw_written bench_etw_count(void);

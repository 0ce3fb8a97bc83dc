// SPDX-License-Identifier: MIT
// Decides from gathered facts whether a process can be attached, and says why not. Facts are
// gathered elsewhere (win32/process_facts.c), so that every refusal can be tested on every system.
#pragma once

#include "common/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct inj_facts {
    uint32_t pid;
    uint32_t own_pid;
    char name[260];           // "" if not known
    bool exists;              // some process has this PID
    bool exited;              // it has, but it has ended
    bool opened;              // all rights that attaching needs were given
    uint32_t open_error;      // GetLastError() otherwise
    uint16_t machine;         // INJ_MACHINE_*, 0 if it could not be found out
    bool is_protected;        // a protected process, also a light one
    bool user_known;          // same_user means something
    bool same_user;           //
    uint32_t integrity;       // integrity level (0x2000 medium, 0x3000 high), 0 if not known
    uint32_t own_integrity;   //
    bool own_elevated;        // we run as administrator
    bool only_signed_modules; // its policy lets only DLLs signed by Microsoft in
    bool no_generated_code;   // its policy forbids new executable memory
} inj_facts;

typedef enum inj_reason {
    INJ_REASON_NONE, // it can be attached
    INJ_REASON_OWN_PROCESS,
    INJ_REASON_SYSTEM_PROCESS,
    INJ_REASON_NO_SUCH_PROCESS,
    INJ_REASON_GONE,
    INJ_REASON_X86,
    INJ_REASON_ARM64,
    INJ_REASON_OTHER_MACHINE,
    INJ_REASON_PROTECTED,
    INJ_REASON_HIGHER_INTEGRITY,
    INJ_REASON_OTHER_USER,
    INJ_REASON_DENIED,
    INJ_REASON_OPEN_FAILED,
    INJ_REASON_MACHINE_UNKNOWN,
    INJ_REASON_SIGNED_ONLY,
    INJ_REASON_NO_GENERATED_CODE,
} inj_reason;

inj_reason inj_decide(const inj_facts *facts);

cm_status inj_reason_status(inj_reason reason);

// A few words for a table; "" for INJ_REASON_NONE.
const char *inj_reason_text(inj_reason reason);

// cm_fail() with the whole sentence; CM_OK for INJ_REASON_NONE.
cm_status inj_refuse(inj_reason reason, const inj_facts *facts);

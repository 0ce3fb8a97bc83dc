// SPDX-License-Identifier: MIT
// The way in: find a process, refuse it with a reason before anything is touched, load the hook
// DLL, hand it its channel, and get out again. Windows only; a port to another system implements
// this header anew.
//
// All functions follow common/status.h: the sentence says what happened, why and what to do next.
#pragma once

#include "common/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---------------------------------------------------------------------------- looking at processes

typedef struct inj_process {
    uint32_t pid;
    uint32_t parent_pid;
    char name[260];        // file name, UTF-8
    char ort_module[1024]; // path of the module that carries ORT, "" if none is loaded or visible
    char ort_version[32];  // file version or GetVersionString of that module, "" if not known
    uint16_t machine; // IMAGE_FILE_MACHINE_*: 0x8664 x64, 0x14c 32-bit, 0xaa64 ARM64; 0 unknown
    bool attached;    // an ortscope is attached
    uint32_t collector_pid; // which one
    cm_status can_attach;   // CM_OK, CM_ACCESS_DENIED, CM_UNSUPPORTED, ...
    char why_not[160];      // for people, "" if CM_OK
} inj_process;

// Calls `fn` for each process that can be seen (own process left out); stops when it returns false.
cm_status inj_list(bool (*fn)(void *context, const inj_process *process), void *context);

// "4242" or "node" or "node.exe" (case-insensitive) to a PID. Several of that name: CM_USAGE with a
// sentence that lists their PIDs; none: CM_NOT_FOUND.
cm_status inj_resolve(const char *pid_or_name, uint32_t *out_pid);

// ------------------------------------------------------------------------- would it work? (doctor)

// The hook DLL is there and ours, as inj_attach would find it. `out_path` says where it was looked
// for, also on failure.
cm_status inj_check_hook(char *out_path, size_t capacity);

typedef struct inj_rights {
    bool elevated;  // we run as administrator
    bool can_debug; // we have SeDebugPrivilege, so other users' processes can be opened
} inj_rights;
void inj_own_rights(inj_rights *out);

// Whether a process could be attached; `out` tells of it what is known, also on failure.
cm_status inj_check_target(uint32_t pid, inj_process *out);

// ----------------------------------------------------------------------------------------- targets

typedef struct inj_channel_size {
    uint32_t ring_count;
    uint32_t ring_bytes;
} inj_channel_size;

typedef struct inj_target {
    uint32_t pid;
    uint32_t parent_pid;
    char program[1024]; // full path, UTF-8
    void *process;      // HANDLE: SYNCHRONIZE and query rights at least
    void *main_thread;  // HANDLE of a process launched by us, else NULL
    void *section_view; // the channel, mapped here; NULL before inj_attach
    inj_channel_size channel;
    void *wake_hook;        // HANDLE, see hook_contract.h
    void *wake_collector;   // HANDLE
    uint64_t created_100ns; // creation time of the process: tells a reused PID apart
} inj_target;

// Starts `argv` suspended with our standard handles, working directory and environment. Checks the
// file first: not found, not an executable, wrong machine.
cm_status inj_launch(int argc, char *const argv[], inj_target **out);

// Opens a running process and makes sure that it can be attached.
cm_status inj_open(uint32_t pid, inj_target **out);

// Opens a running process to watch it from outside: nothing will go into it, so that little has to
// be allowed. `parent`: NULL, or the process whose child it must be.
cm_status inj_open_to_watch(uint32_t pid, const inj_target *parent, inj_target **out);

// Opens a child that `parent` has created suspended and asks us to follow; refuses a PID that is
// not a child of `parent` (the target is not trusted).
cm_status inj_open_child(const inj_target *parent, uint32_t pid, inj_target **out);

// Makes the channel, loads the DLL that lies beside our own executable, arms with `hook_flags`
// (ORT_HOOK_* of hook_contract.h). On failure the target is left as it was (the DLL may stay
// loaded, dormant).
cm_status inj_attach(inj_target *target, inj_channel_size size, uint32_t hook_flags);

// Lets a launched process (or one whose attach failed) run.
cm_status inj_resume(inj_target *target);

// Asks the hook to disarm and waits until it has (5 s). A target that is gone is no error.
cm_status inj_disarm(inj_target *target);

// Waits at most `timeout_ms` for the target to end, its hook to ask something, or the time to pass.
typedef enum inj_wait { INJ_WAIT_TIMEOUT, INJ_WAIT_EXITED, INJ_WAIT_WOKEN } inj_wait;
inj_wait inj_target_wait(inj_target *target, uint32_t timeout_ms);
// The same, and for an event of the caller's own (a HANDLE, NULL: none) to be set: WOKEN too.
inj_wait inj_target_wait_or(inj_target *target, void *event, uint32_t timeout_ms);

// False while it runs.
bool inj_target_exit_code(const inj_target *target, uint32_t *out);

// The command line that it was started with, UTF-8, to be freed with free(); NULL if it does not
// say. Only for a user who asked for it: there may be anything in it.
char *inj_command_line_of(const inj_target *target);

// Unmaps, closes, frees. Neither disarms nor kills.
void inj_target_close(inj_target *target);

// Disarms the hook that another ortscope (or a dead one) has in process `pid`.
cm_status inj_detach_pid(uint32_t pid);

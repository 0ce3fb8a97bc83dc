// SPDX-License-Identifier: MIT
// What the Windows half of the injector shares among its own files; nobody else includes this.
// Rule for all of them: every wait has the target's process handle in it and a time limit, and
// whatever was opened, allocated or duplicated into the target is undone on every failure path.
#pragma once

#include "injector/injector.h"

#include "../pe_image.h"
#include "../refusal.h"

#include <wchar.h>
#include <windows.h>

#define INJ_PATH_CHARS 4096

// ----------------------------------------------------------------------------------- wide_text.c

// malloc'ed; NULL if out of memory or not UTF-8.
wchar_t *inj_wide(const char *utf8);

// Cuts what does not fit, at a character's boundary; always terminates.
void inj_utf8(const wchar_t *wide, char *out, size_t out_bytes);

const wchar_t *inj_file_name(const wchar_t *path);
bool inj_same_text(const wchar_t *a, const wchar_t *b); // ordinal, case-insensitive

// -------------------------------------------------------------------------------- program_file.c

// Finds the program as a shell would and refuses what can't be started and seen. `out` gets the
// full path (INJ_PATH_CHARS).
cm_status inj_find_program(const char *name, wchar_t *out);

// Machine of an executable file, 0 if it can't be read.
uint16_t inj_file_machine(const wchar_t *path);

// ------------------------------------------------------------------------------- process_facts.c

#define INJ_ATTACH_RIGHTS                                                                          \
    (PROCESS_CREATE_THREAD | PROCESS_QUERY_INFORMATION | PROCESS_VM_OPERATION | PROCESS_VM_READ |  \
     PROCESS_VM_WRITE | PROCESS_DUP_HANDLE | SYNCHRONIZE)

// Fills `facts`; *out_process is a handle with INJ_ATTACH_RIGHTS, or NULL.
void inj_gather_facts(uint32_t pid, inj_facts *facts, HANDLE *out_process);

uint64_t inj_creation_time(HANDLE process); // 0 if not known
uint32_t inj_parent_pid(HANDLE process);    // 0 if not known

// ------------------------------------------------------------------------------ remote_modules.c

typedef struct inj_module {
    uint64_t base;
    uint64_t bytes;
    wchar_t path[INJ_PATH_CHARS];
} inj_module;

// Calls `fn` for each module until it returns false. False: the list can't be had, as in a process
// whose loader has not run yet.
bool inj_each_module(HANDLE process, bool (*fn)(void *context, const inj_module *module),
                     void *context);

bool inj_module_export(HANDLE process, const inj_module *module, const char *name,
                       uint64_t *out_address);

// Version of the ONNX Runtime in it; false if its code does not tell.
bool inj_module_ort_version(HANDLE process, const inj_module *module, char *out, size_t out_bytes);

// True if both paths name the same file.
bool inj_same_file(const wchar_t *a, const wchar_t *b);

// -------------------------------------------------------------------------------- process_list.c

// Which ONNX Runtime is in it, and which ortscope is attached.
void inj_look_inside(HANDLE process, inj_process *out);

// ---------------------------------------------------------------------------------- hook_image.c

typedef struct inj_hook_image {
    HMODULE file; // keeps the file as it is while we work with it
    wchar_t path[INJ_PATH_CHARS];
    uint32_t attach_rva;
} inj_hook_image;

// Our own DLL, checked to be there and of our version. Nothing in it is run.
cm_status inj_hook_image_open(inj_hook_image *out);
void inj_hook_image_close(inj_hook_image *image);

// Tests only: where the DLL lies instead of beside our executable; NULL for the rule.
void inj_hook_directory_for_tests(const wchar_t *directory);

// The hook as it is found in a process.
typedef struct inj_hook_found {
    bool mapped;            // a module with the DLL's name
    bool readable;          // `attached`, `collector_pid` and `version` mean something
    bool attached;          //
    uint32_t collector_pid; //
    char version[20];       //
    inj_module module;      //
    uint64_t detach;        // address of ortscope_hook_detach, 0 if not found
} inj_hook_found;

void inj_find_hook(HANDLE process, inj_hook_found *out);

// ------------------------------------------------------------------------------------- remote.c

typedef struct inj_remote_result {
    bool started;
    bool finished; // false: still running after the time limit
    DWORD exit_code;
} inj_remote_result;

// Runs `address(argument bytes copied into the target)` there. The copy is freed again unless the
// call did not finish. `what` completes the sentence "... could not <what>".
cm_status inj_remote_call(inj_target *target, uint64_t address, const void *argument,
                          size_t argument_bytes, const char *what, inj_remote_result *out);

// A sentence for a failed call: that the target is gone if it is, else `what` and `error`.
cm_status inj_remote_failed(inj_target *target, const char *what, DWORD error);

// CM_NOT_FOUND with the exit code.
cm_status inj_gone(inj_target *target);

// Shorter in tests.
extern uint32_t inj_remote_timeout_ms;

// --------------------------------------------------------------------------------------- target.c

// Takes ownership of the handles, also on failure. `thread` may be NULL.
cm_status inj_target_create(HANDLE process, HANDLE thread, uint32_t pid, inj_target **out);

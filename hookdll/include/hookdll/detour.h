// SPDX-License-Identifier: MIT
// Inline detours in transactions, in the shape of Microsoft Detours. A function is hooked by a
// 5-byte jump over its first instructions; these are moved into a trampoline through which the
// hook calls the original. What can't be moved safely is refused with a reason, never patched.
//
//     static int (*real_add)(int, int);          // becomes the trampoline
//     static int my_add(int a, int b) { return real_add(a, b) + 1; }
//
//     real_add = (int (*)(int, int))address_of_add;
//     if (hk_detour_begin() == HK_DETOUR_OK) {
//         hk_detour_attach((void **)&real_add, HK_CODE(my_add));
//         if (hk_detour_commit(&result) != HK_DETOUR_OK)
//             tell(result.target, hk_detour_reason_text(result.reason));
//     }
//
// Rules
// - Nothing is touched before commit. Commit is all or nothing: when one function is refused, no
//   byte and no pointer is changed. Functions added with HK_DETOUR_OPTIONAL are left out instead,
//   each with its own reason, and the rest is committed.
// - One transaction at a time, owned by the thread that began it. Begin waits for another thread's
//   transaction for some seconds, then fails with HK_DETOUR_BUSY; begun twice it fails at once.
// - Commit suspends all other threads of the process. Before that it has allocated and checked
//   everything; while they are suspended it calls nothing but thread and cache system calls, so a
//   suspended thread may hold any lock. The pointers change while the threads are suspended: a
//   hook can call through its pointer from its first call on.
// - Where the function branches back into its first bytes, it is moved up to that branch (at most
//   96 bytes), so that the branch stays within the trampoline.
// - A thread inside the patched bytes is moved to the same instruction in the trampoline, and back
//   on detach. Trampolines are never unmapped or changed: a thread may be in one for ever. The same
//   function attached again gets the same trampoline, so arming again costs no memory.
// - After detach, hooks that were entered before may still run: their DLL must stay loaded.
// - No C library, no heap, no thread-local storage; memory comes from VirtualAlloc. A transaction
//   may be used inside a loader notification, but not inside a hook.
// - An exception can't be unwound through a trampoline that contains a call (a function that calls
//   within its first instructions): the trampoline has no unwind data. ORT's C API never throws.
//
// How this maps to Microsoft Detours, for those who link the real library
//     hk_detour_begin            DetourTransactionBegin, and DetourUpdateThread for all threads
//     hk_detour_attach / detach  DetourAttach / DetourDetach, the same pointer convention
//     hk_detour_commit           DetourTransactionCommitEx (result.target = *ppFailedPointer)
//     hk_detour_abort            DetourTransactionAbort
//     HK_DETOUR_OPTIONAL         DetourSetIgnoreTooSmall is near it; else one transaction each
//     hk_detour_forget           nothing: Detours keeps no table of targets
#pragma once

#include <stddef.h>
#include <stdint.h>

// name, sentence for logs and messages
#define HK_DETOUR_REASON_MAP(XX)                                                                   \
    XX(OK, "success")                                                                              \
    XX(BUSY, "another transaction is open")                                                        \
    XX(NO_TRANSACTION, "this thread has not begun a transaction")                                  \
    XX(BAD_ARGUMENT, "a pointer is null")                                                          \
    XX(TOO_MANY, "the transaction holds too many functions")                                       \
    XX(NO_MEMORY, "memory for the engine could not be allocated")                                  \
    XX(NO_NEAR_MEMORY, "no free memory within 2 GB of the function")                               \
    XX(CODE_FORBIDDEN, "the process does not allow new executable memory")                         \
    XX(NOT_EXECUTABLE, "the address is not in executable memory")                                  \
    XX(NOT_WRITABLE, "the code can't be made writable")                                            \
    XX(ALREADY_ATTACHED, "the function is hooked already")                                         \
    XX(OVERLAPS, "another hooked function begins within the same 5 bytes")                         \
    XX(UNDECODABLE, "the first bytes are not valid instructions")                                  \
    XX(BREAKPOINT, "a breakpoint is set in the first bytes")                                       \
    XX(TOO_SMALL, "the function is shorter than 5 bytes and other code follows")                   \
    XX(CALL_RETURNS_INSIDE, "a call would return into the patched bytes")                          \
    XX(BRANCH_INTO, "a branch leads back into the patched bytes and can't be moved with them")     \
    XX(READS_ITSELF, "the function reads its own first bytes")                                     \
    XX(NOT_RELOCATABLE, "one of the first instructions can't be moved")                            \
    XX(OUT_OF_RANGE, "an operand would be more than 2 GB away from the trampoline")                \
    XX(NOT_ATTACHED, "the function is not hooked with this hook")                                  \
    XX(OVERWRITTEN, "someone else has patched over the hook")                                      \
    XX(TARGET_GONE, "the hooked code is no longer mapped")                                         \
    XX(CHANGED, "the code changed while it was being hooked")                                      \
    XX(THREAD_INSIDE, "a thread stands inside the patched bytes and can't be moved")               \
    XX(THREADS, "the other threads could not be suspended")                                        \
    XX(NOT_COMMITTED, "another function of the same transaction was refused")

typedef enum hk_detour_reason {
#define XX(name, text) HK_DETOUR_##name,
    HK_DETOUR_REASON_MAP(XX)
#undef XX
        HK_DETOUR_REASON_COUNT
} hk_detour_reason;

enum { HK_DETOUR_OPTIONAL = 1 }; // refused: left out, the rest is committed
enum { HK_DETOUR_MAX_OPS = 1024 };

typedef struct hk_detour_result {
    hk_detour_reason reason; // HK_DETOUR_OK, or why nothing was changed
    void *target;            // the function that was refused, else null
    uint32_t committed;      // functions attached or detached
    uint32_t skipped;        // optional ones that were refused
    uint32_t threads_moved;  // threads that stood inside patched bytes or a trampoline
    uint32_t threads;        // threads that were suspended
} hk_detour_result;

// A function as the plain pointer that the calls below take.
#define HK_CODE(function) ((void *)(uintptr_t)(function))

const char *hk_detour_reason_text(hk_detour_reason reason);
const char *hk_detour_reason_name(hk_detour_reason reason);

hk_detour_reason hk_detour_begin(void);

// `*target_pointer` is the function; on commit it becomes the trampoline. The pointer itself is
// borrowed until commit or abort. A failure is also what commit will then report.
hk_detour_reason hk_detour_attach(void **target_pointer, void *hook);

// `*target_pointer` is the trampoline that attach put there; on commit it becomes the function.
hk_detour_reason hk_detour_detach(void **target_pointer, void *hook);

// The same with flags. `outcome` (may be null) is borrowed and written by commit: HK_DETOUR_OK,
// the reason why this function was refused, or HK_DETOUR_NOT_COMMITTED.
hk_detour_reason hk_detour_attach_ex(void **target_pointer, void *hook, unsigned flags,
                                     hk_detour_reason *outcome);
hk_detour_reason hk_detour_detach_ex(void **target_pointer, void *hook, unsigned flags,
                                     hk_detour_reason *outcome);

// Ends the transaction in any case. `result` may be null.
hk_detour_reason hk_detour_commit(hk_detour_result *result);
void hk_detour_abort(void);

// The memory [base, base + len) is being unmapped: hooks in it count as gone, without touching it.
// Pointers that hold trampolines of these functions must not be called any more.
void hk_detour_forget(const void *base, size_t len);

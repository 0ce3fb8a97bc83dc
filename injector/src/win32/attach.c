// SPDX-License-Identifier: MIT
// Loads the hook into the target and hands it its channel. The order is chosen so that nothing in
// the target is touched before everything on our side is known to be good, and so that handles are
// duplicated into it last of all.
#include "win_internal.h"

#include "tracelogging/channel.h"
#include "tracelogging/hook_contract.h"

#include <stdlib.h>
#include <string.h>

#define SETTLE_STEPS   50
#define SETTLE_STEP_MS 20u

typedef struct attachment {
    inj_hook_image image;
    inj_hook_found found;
    HANDLE section;
    ort_hook_params params; // handles as they are in the target
    bool params_given;      // they belong to the hook now
} attachment;

// ------------------------------------------------------------------------- what is there already

static bool is_running(uint32_t pid)
{
    HANDLE process = OpenProcess(SYNCHRONIZE, FALSE, pid);
    if (process == NULL)
        return GetLastError() == ERROR_ACCESS_DENIED;
    bool running = WaitForSingleObject(process, 0) == WAIT_TIMEOUT;
    CloseHandle(process);
    return running;
}

static cm_status fail_already_attached(const inj_target *target, uint32_t collector_pid)
{
    return cm_fail(
        CM_FAILED,
        "process %u is already being profiled by ortscope (PID %u); stop that one first: "
        "ortscope detach %u",
        (unsigned)target->pid, (unsigned)collector_pid, (unsigned)target->pid);
}

// While a hook attaches or lets go its state says attached, but not by whom.
static void find_settled_hook(inj_target *target, inj_hook_found *found)
{
    inj_find_hook(target->process, found);
    for (int i = 0; i < SETTLE_STEPS && found->attached && found->collector_pid == 0; i++) {
        if (WaitForSingleObject(target->process, SETTLE_STEP_MS) == WAIT_OBJECT_0)
            break;
        inj_find_hook(target->process, found);
    }
}

// An earlier capture leaves the DLL in the process, dormant.
static cm_status check_hook_in_target(inj_target *target, attachment *a)
{
    const inj_hook_found *found = &a->found;
    if (!found->mapped)
        return CM_OK;
    if (!found->readable || strcmp(found->version, ORTSCOPE_VERSION) != 0 ||
        !inj_same_file(found->module.path, a->image.path)) {
        char path[512];
        inj_utf8(found->module.path, path, sizeof path);
        return cm_fail(CM_FAILED,
                       "process %u has the hook of another ortscope loaded (%s, version %s) and "
                       "this one is %s; use that ortscope, or restart the program",
                       (unsigned)target->pid, path, found->readable ? found->version : "unknown",
                       ORTSCOPE_VERSION);
    }
    if (!found->attached)
        return CM_OK;
    if (found->collector_pid == 0 || is_running(found->collector_pid))
        return fail_already_attached(target, found->collector_pid);
    // Its collector died a moment ago; the hook will notice itself, but not necessarily first.
    if (found->detach == 0)
        return CM_OK;
    inj_remote_result result;
    return inj_remote_call(target, found->detach, NULL, 0, "detach a dead ortscope", &result);
}

// -------------------------------------------------------------------------------------- our side

static cm_status make_channel(inj_target *target, inj_channel_size size, attachment *a)
{
    size_t bytes = tl_section_bytes(size.ring_count, size.ring_bytes);
    if (bytes == 0)
        return cm_fail(CM_USAGE,
                       "%u rings of %u bytes can't be made: at most %u rings, their size "
                       "a power of two from %u to %u bytes",
                       (unsigned)size.ring_count, (unsigned)size.ring_bytes, TL_RINGS_MAX,
                       TL_RING_BYTES_MIN, TL_RING_BYTES_MAX);
    a->section = CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE,
                                    (DWORD)((uint64_t)bytes >> 32), (DWORD)bytes, NULL);
    if (a->section != NULL)
        target->section_view =
            MapViewOfFile(a->section, FILE_MAP_READ | FILE_MAP_WRITE, 0, 0, bytes);
    if (target->section_view == NULL)
        return cm_fail(CM_NO_MEMORY,
                       "no shared memory of %llu bytes could be made (Windows error "
                       "%lu); ask for fewer or smaller rings",
                       (unsigned long long)bytes, GetLastError());
    target->wake_hook = CreateEventW(NULL, FALSE, FALSE, NULL);
    target->wake_collector = CreateEventW(NULL, FALSE, FALSE, NULL);
    if (target->wake_hook == NULL || target->wake_collector == NULL)
        return cm_fail(CM_FAILED, "no event could be made (Windows error %lu)", GetLastError());
    target->channel = size;
    tl_section_init(target->section_view, size.ring_count, size.ring_bytes);
    a->params.section_bytes = bytes;
    return CM_OK;
}

static void drop_channel(inj_target *target)
{
    if (target->section_view != NULL) {
        // If the hook got it and was only late, it shall let go at once.
        tl_section_header *header = target->section_view;
        atomic_store(&header->stop, 1);
        if (target->wake_hook != NULL)
            SetEvent(target->wake_hook);
        UnmapViewOfFile(target->section_view);
    }
    if (target->wake_hook != NULL)
        CloseHandle(target->wake_hook);
    if (target->wake_collector != NULL)
        CloseHandle(target->wake_collector);
    target->section_view = target->wake_hook = target->wake_collector = NULL;
    target->channel = (inj_channel_size){0};
}

// ------------------------------------------------------------------------------------- their side

typedef struct module_search {
    const wchar_t *path;
    uint64_t base;
} module_search;

static bool match_path(void *context, const inj_module *module)
{
    module_search *search = context;
    if (!inj_same_file(module->path, search->path))
        return true;
    search->base = module->base;
    return false;
}

static cm_status load_hook(inj_target *target, const attachment *a, uint64_t *out_base)
{
    if (a->found.mapped) {
        *out_base = a->found.module.base;
        return CM_OK;
    }
    // kernel32.dll lies at one address in all processes until the next boot.
    HMODULE kernel32 = GetModuleHandleW(L"kernel32.dll");
    uint64_t load_library = (uint64_t)(ULONG_PTR)GetProcAddress(kernel32, "LoadLibraryW");
    inj_remote_result result;
    CM_TRY(inj_remote_call(target, load_library, a->image.path,
                           (wcslen(a->image.path) + 1) * sizeof(wchar_t), "load ortscope's DLL",
                           &result));
    // The exit code is half an address: only the module list tells.
    module_search search = {.path = a->image.path};
    inj_each_module(target->process, match_path, &search);
    if (search.base == 0) {
        if (WaitForSingleObject(target->process, 500) == WAIT_OBJECT_0)
            return inj_gone(target);
        char path[512];
        inj_utf8(a->image.path, path, sizeof path);
        return cm_fail(CM_FAILED,
                       "process %u refused to load %s; check that the user it runs as may read "
                       "that file, and what security software says",
                       (unsigned)target->pid, path);
    }
    *out_base = search.base;
    return CM_OK;
}

static bool give(inj_target *target, HANDLE ours, DWORD rights, uint64_t *out)
{
    HANDLE theirs = NULL;
    if (!DuplicateHandle(GetCurrentProcess(), ours, target->process, &theirs, rights, FALSE, 0))
        return false;
    *out = (uint64_t)(ULONG_PTR)theirs;
    return true;
}

static void take_back(inj_target *target, uint64_t *theirs)
{
    if (*theirs != 0)
        DuplicateHandle(target->process, (HANDLE)(ULONG_PTR)*theirs, NULL, NULL, 0, FALSE,
                        DUPLICATE_CLOSE_SOURCE);
    *theirs = 0;
}

// The least rights that the hook can work with: a target can't write to our process through them.
static cm_status give_handles(inj_target *target, attachment *a)
{
    ort_hook_params *p = &a->params;
    if (!give(target, a->section, FILE_MAP_READ | FILE_MAP_WRITE, &p->section) ||
        !give(target, target->wake_hook, EVENT_MODIFY_STATE | SYNCHRONIZE, &p->wake_hook) ||
        !give(target, target->wake_collector, EVENT_MODIFY_STATE | SYNCHRONIZE,
              &p->wake_collector) ||
        !give(target, GetCurrentProcess(), SYNCHRONIZE, &p->collector_process))
        return inj_remote_failed(target, "be given the channel's handles", GetLastError());
    return CM_OK;
}

static void take_back_handles(inj_target *target, attachment *a)
{
    take_back(target, &a->params.section);
    take_back(target, &a->params.wake_hook);
    take_back(target, &a->params.wake_collector);
    take_back(target, &a->params.collector_process);
}

static cm_status result_of_attach(inj_target *target, DWORD code)
{
    inj_hook_found now;
    switch (code) {
    case ORT_HOOK_OK:
        return CM_OK;
    case ORT_HOOK_ALREADY_ATTACHED: // somebody was quicker
        find_settled_hook(target, &now);
        return fail_already_attached(target, now.collector_pid);
    case ORT_HOOK_THREAD_LEFT:
        return cm_fail(CM_FAILED,
                       "a thread of process %u was stopped inside the hook when an earlier capture "
                       "ended, and is there still; let it go on if a debugger holds it, else "
                       "restart the program to record it again",
                       (unsigned)target->pid);
    case ORT_HOOK_NO_MEMORY:
        return cm_fail(CM_NO_MEMORY, "process %u has no memory left for the hook",
                       (unsigned)target->pid);
    case ORT_HOOK_BAD_PARAMS:
        return cm_fail(CM_FAILED,
                       "the hook in process %u did not accept the channel; put the two "
                       "files of one ortscope release side by side",
                       (unsigned)target->pid);
    default:
        if (WaitForSingleObject(target->process, 500) == WAIT_OBJECT_0)
            return inj_gone(target);
        return cm_fail(CM_FAILED, "the hook in process %u ended with 0x%08lx while attaching",
                       (unsigned)target->pid, code);
    }
}

static cm_status call_attach(inj_target *target, attachment *a, uint64_t base)
{
    inj_remote_result result;
    cm_status status = inj_remote_call(target, base + a->image.attach_rva, &a->params,
                                       sizeof a->params, "attach ortscope's DLL", &result);
    a->params_given = result.started;
    return status == CM_OK ? result_of_attach(target, result.exit_code) : status;
}

cm_status inj_attach(inj_target *target, inj_channel_size size, uint32_t hook_flags)
{
    if (target->section_view != NULL)
        return cm_fail(CM_FAILED, "process %u is attached already", (unsigned)target->pid);
    attachment *a = calloc(1, sizeof *a);
    if (a == NULL)
        return cm_fail(CM_NO_MEMORY, "out of memory");
    a->params.size = sizeof a->params;
    a->params.abi = ORT_HOOK_ABI;
    a->params.collector_pid = GetCurrentProcessId();
    a->params.flags = hook_flags;

    uint64_t base = 0;
    cm_status status = inj_hook_image_open(&a->image);
    if (status == CM_OK) {
        find_settled_hook(target, &a->found);
        status = check_hook_in_target(target, a);
    }
    if (status == CM_OK)
        status = make_channel(target, size, a);
    if (status == CM_OK)
        status = load_hook(target, a, &base);
    if (status == CM_OK)
        status = give_handles(target, a);
    if (status == CM_OK)
        status = call_attach(target, a, base);

    if (status != CM_OK) {
        if (!a->params_given)
            take_back_handles(target, a);
        drop_channel(target);
    }
    if (a->section != NULL)
        CloseHandle(a->section); // the views keep it alive
    inj_hook_image_close(&a->image);
    free(a);
    return status;
}

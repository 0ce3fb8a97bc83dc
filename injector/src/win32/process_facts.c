// SPDX-License-Identifier: MIT
// Gathers what refusal.c decides on. Only asks: no right is used here that could change the
// process, and a fact that can't be had is left unknown.
#include "win_internal.h"

#include <string.h>
#include <winternl.h>

// Newer than the headers at hand, or not exported by every system: looked up by name.
#define PROCESS_PROTECTION_CLASS   61
#define PROCESS_MACHINE_TYPE_CLASS 9
#define POLICY_DYNAMIC_CODE        2
#define POLICY_SIGNATURE           8

typedef struct machine_information {
    USHORT process_machine;
    USHORT reserved;
    DWORD attributes;
} machine_information;

static FARPROC kernel32_function(const char *name)
{
    return GetProcAddress(GetModuleHandleW(L"kernel32.dll"), name);
}

uint64_t inj_creation_time(HANDLE process)
{
    FILETIME created, exited, kernel, user;
    if (!GetProcessTimes(process, &created, &exited, &kernel, &user))
        return 0;
    return ((uint64_t)created.dwHighDateTime << 32) | created.dwLowDateTime;
}

uint32_t inj_parent_pid(HANDLE process)
{
    PROCESS_BASIC_INFORMATION info;
    ULONG len = 0;
    memset(&info, 0, sizeof info);
    if (NtQueryInformationProcess(process, ProcessBasicInformation, &info, sizeof info, &len) < 0)
        return 0;
    return (uint32_t)info.InheritedFromUniqueProcessId;
}

// ------------------------------------------------------------------------------------ the machine

// On an ARM64 system an x64 process is not a WOW64 one, so IsWow64Process2 can't tell it from a
// native one there; a newer question can, and the file's header is the last resort.
static uint16_t machine_on_arm64(HANDLE process)
{
    typedef BOOL WINAPI get_information(HANDLE, int, void *, DWORD);
    get_information *ask =
        (get_information *)(void (*)(void))kernel32_function("GetProcessInformation");
    machine_information info;
    if (ask != NULL && ask(process, PROCESS_MACHINE_TYPE_CLASS, &info, sizeof info))
        return info.process_machine;
    wchar_t path[INJ_PATH_CHARS];
    DWORD chars = INJ_PATH_CHARS;
    return QueryFullProcessImageNameW(process, 0, path, &chars) ? inj_file_machine(path) : 0;
}

static uint16_t process_machine(HANDLE process)
{
    typedef BOOL WINAPI is_wow64_2(HANDLE, USHORT *, USHORT *);
    is_wow64_2 *ask = (is_wow64_2 *)(void (*)(void))kernel32_function("IsWow64Process2");
    USHORT emulated = 0, native = 0;
    if (ask != NULL && ask(process, &emulated, &native)) {
        if (emulated != 0)
            return emulated;
        return native == INJ_MACHINE_ARM64 ? machine_on_arm64(process) : native;
    }
    BOOL is_32bit = FALSE;
    if (!IsWow64Process(process, &is_32bit))
        return 0;
    return is_32bit ? INJ_MACHINE_X86 : INJ_MACHINE_X64;
}

// ------------------------------------------------------------------------------------------ rights

typedef struct token_facts {
    bool known;
    union {
        TOKEN_USER user;
        uint8_t bytes[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    } user;
    uint32_t integrity;
    bool elevated;
} token_facts;

static void read_token(HANDLE process, token_facts *out)
{
    memset(out, 0, sizeof *out);
    HANDLE token;
    if (!OpenProcessToken(process, TOKEN_QUERY, &token))
        return;
    DWORD len;
    out->known = GetTokenInformation(token, TokenUser, &out->user, sizeof out->user, &len);
    union {
        TOKEN_MANDATORY_LABEL label;
        uint8_t bytes[sizeof(TOKEN_MANDATORY_LABEL) + SECURITY_MAX_SID_SIZE];
    } level;
    if (GetTokenInformation(token, TokenIntegrityLevel, &level, sizeof level, &len)) {
        PSID sid = level.label.Label.Sid;
        out->integrity = *GetSidSubAuthority(sid, (DWORD)(*GetSidSubAuthorityCount(sid) - 1));
    }
    TOKEN_ELEVATION elevation = {0};
    if (GetTokenInformation(token, TokenElevation, &elevation, sizeof elevation, &len))
        out->elevated = elevation.TokenIsElevated != 0;
    CloseHandle(token);
}

// Administrators may open other users' processes, but have to switch that on. It is on only for
// the one call that needs it.
static HANDLE open_with_debug_privilege(DWORD rights, uint32_t pid)
{
    HANDLE token, process = NULL;
    TOKEN_PRIVILEGES wanted = {.PrivilegeCount = 1}, before;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY, &token))
        return NULL;
    DWORD len = sizeof before;
    wanted.Privileges[0].Attributes = SE_PRIVILEGE_ENABLED;
    memset(&before, 0, sizeof before);
    if (LookupPrivilegeValueW(NULL, L"SeDebugPrivilege", &wanted.Privileges[0].Luid) &&
        AdjustTokenPrivileges(token, FALSE, &wanted, sizeof before, &before, &len) &&
        GetLastError() == ERROR_SUCCESS) {
        process = OpenProcess(rights, FALSE, pid);
        if (before.PrivilegeCount > 0)
            AdjustTokenPrivileges(token, FALSE, &before, 0, NULL, NULL);
    }
    CloseHandle(token);
    return process;
}

// Windows rounds a PID down to a multiple of four: 4243 would open 4240.
static HANDLE open_exactly(DWORD rights, uint32_t pid)
{
    HANDLE process = OpenProcess(rights, FALSE, pid);
    if (process != NULL && GetProcessId(process) != pid) {
        CloseHandle(process);
        SetLastError(ERROR_INVALID_PARAMETER);
        return NULL;
    }
    return process;
}

static bool is_protected(HANDLE process)
{
    UCHAR level = 0;
    ULONG len = 0;
    NTSTATUS status = NtQueryInformationProcess(process, (PROCESSINFOCLASS)PROCESS_PROTECTION_CLASS,
                                                &level, sizeof level, &len);
    return status >= 0 && (level & 7) != 0;
}

static bool has_policy(HANDLE process, int policy)
{
    typedef BOOL WINAPI get_policy(HANDLE, int, void *, SIZE_T);
    get_policy *ask = (get_policy *)(void (*)(void))kernel32_function("GetProcessMitigationPolicy");
    DWORD flags = 0;
    return ask != NULL && ask(process, policy, &flags, sizeof flags) && (flags & 1);
}

static void describe(HANDLE process, inj_facts *facts)
{
    wchar_t path[INJ_PATH_CHARS];
    DWORD chars = INJ_PATH_CHARS;
    if (QueryFullProcessImageNameW(process, 0, path, &chars))
        inj_utf8(inj_file_name(path), facts->name, sizeof facts->name);
    facts->machine = process_machine(process);
    facts->is_protected = is_protected(process);
    facts->only_signed_modules = has_policy(process, POLICY_SIGNATURE);
    facts->no_generated_code = has_policy(process, POLICY_DYNAMIC_CODE);

    token_facts own, theirs;
    read_token(GetCurrentProcess(), &own);
    read_token(process, &theirs);
    facts->own_elevated = own.elevated;
    facts->own_integrity = own.integrity;
    facts->integrity = theirs.integrity;
    facts->user_known = own.known && theirs.known;
    facts->same_user =
        facts->user_known && EqualSid(own.user.user.User.Sid, theirs.user.user.User.Sid);
}

void inj_gather_facts(uint32_t pid, inj_facts *facts, HANDLE *out_process)
{
    memset(facts, 0, sizeof *facts);
    *out_process = NULL;
    facts->pid = pid;
    facts->own_pid = GetCurrentProcessId();
    if (pid == 0 || pid == facts->own_pid)
        return;
    HANDLE process = open_exactly(INJ_ATTACH_RIGHTS, pid);
    facts->open_error = process == NULL ? GetLastError() : 0;
    if (process == NULL && facts->open_error == ERROR_INVALID_PARAMETER)
        return; // no such process
    facts->exists = true;
    if (process == NULL && facts->open_error == ERROR_ACCESS_DENIED)
        process = open_with_debug_privilege(INJ_ATTACH_RIGHTS, pid);
    facts->opened = process != NULL;
    HANDLE asked = process != NULL
                       ? process
                       : open_exactly(PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE, pid);
    if (asked == NULL) // SYNCHRONIZE may be what is denied
        asked = open_exactly(PROCESS_QUERY_LIMITED_INFORMATION, pid);
    if (asked == NULL)
        return;
    facts->exited = WaitForSingleObject(asked, 0) == WAIT_OBJECT_0;
    describe(asked, facts);
    if (asked != process)
        CloseHandle(asked);
    *out_process = process;
}

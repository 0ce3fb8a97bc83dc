// SPDX-License-Identifier: MIT
// A program that carries a hooking library of its own (security products, overlays and game
// platforms do). Told by lines on standard input:
//   over   patch CreateProcessW over the jump that somebody else has put there, and chain to it
//   spawn  start a child and wait for it
// Each is answered with a line. Ends with 5 at the end of input, with 42 if a call comes back to
// its own hook.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

#define DEEPEST  20
#define REACH    0x70000000u // what a five-byte jump reaches, and a little less
#define JUMP_LEN 14u

typedef BOOL WINAPI create_fn(LPCWSTR app, LPWSTR command, LPSECURITY_ATTRIBUTES pa,
                              LPSECURITY_ATTRIBUTES ta, BOOL inherit, DWORD flags, LPVOID env,
                              LPCWSTR dir, LPSTARTUPINFOW startup, LPPROCESS_INFORMATION process);

static create_fn *g_next;
static LONG g_depth;

static BOOL WINAPI our_hook(LPCWSTR app, LPWSTR command, LPSECURITY_ATTRIBUTES pa,
                            LPSECURITY_ATTRIBUTES ta, BOOL inherit, DWORD flags, LPVOID env,
                            LPCWSTR dir, LPSTARTUPINFOW startup, LPPROCESS_INFORMATION process)
{
    if (++g_depth > DEEPEST)
        ExitProcess(42);
    BOOL created = g_next(app, command, pa, ta, inherit, flags, env, dir, startup, process);
    g_depth--;
    return created;
}

// jmp [rip+0] and the address
static void write_jump(uint8_t *at, uint64_t to)
{
    static const uint8_t opcode[] = {0xff, 0x25, 0, 0, 0, 0};
    memcpy(at, opcode, sizeof opcode);
    memcpy(at + sizeof opcode, &to, sizeof to);
}

static uint8_t *page_below(const uint8_t *function)
{
    uintptr_t at = (uintptr_t)function & ~(uintptr_t)0xffff;
    uint8_t *page = NULL;
    for (uintptr_t gap = 0x10000; !page && gap < REACH && gap < at; gap += 0x10000)
        page = VirtualAlloc((void *)(at - gap), 4096, MEM_RESERVE | MEM_COMMIT,
                            PAGE_EXECUTE_READWRITE);
    return page;
}

// What a chaining hooker does: the jump that is there becomes the way on, its own takes the place.
static const char *hook_over(void)
{
    uint8_t *function =
        (uint8_t *)(uintptr_t)GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "CreateProcessW");
    if (!function || function[0] != 0xe9)
        return "nobody has hooked CreateProcessW";
    uint8_t *page = page_below(function);
    DWORD before;
    if (!page || !VirtualProtect(function, 5, PAGE_EXECUTE_READWRITE, &before))
        return "no memory";
    int32_t offset;
    memcpy(&offset, function + 1, sizeof offset);
    write_jump(page, (uint64_t)(uintptr_t)(function + 5 + offset));
    write_jump(page + JUMP_LEN, (uint64_t)(uintptr_t)our_hook);
    g_next = (create_fn *)(uintptr_t)page;
    offset = (int32_t)(page + JUMP_LEN - (function + 5));
    memcpy(function + 1, &offset, sizeof offset);
    VirtualProtect(function, 5, before, &before);
    return "hooked over";
}

static const char *spawn(void)
{
    wchar_t command[] = L"cmd /c exit 21";
    STARTUPINFOW startup = {.cb = sizeof startup};
    PROCESS_INFORMATION child;
    DWORD code = 0;
    if (!CreateProcessW(NULL, command, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &child))
        return "no child";
    WaitForSingleObject(child.hProcess, 60000);
    GetExitCodeProcess(child.hProcess, &code);
    CloseHandle(child.hThread);
    CloseHandle(child.hProcess);
    return code == 21 ? "child good" : "child bad";
}

int main(void)
{
    char line[32];
    printf("pid %lu\n", GetCurrentProcessId());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        printf("%s\n", line[0] == 'o' ? hook_over() : spawn());
        fflush(stdout);
    }
    return 5;
}

// SPDX-License-Identifier: MIT
// A program to be launched: tells what it was given (arguments, directory, one variable, standard
// input, whether the hook was there before main) as UTF-8 lines, and exits with the code that its
// first argument names.
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#include <shellapi.h>

static void say(const char *key, const wchar_t *value)
{
    static char utf8[3 * 32768];
    WideCharToMultiByte(CP_UTF8, 0, value, -1, utf8, sizeof utf8, NULL, NULL);
    printf("%s=%s\n", key, utf8);
}

int main(void)
{
    static wchar_t text[32768];
    int argc;
    wchar_t **argv = CommandLineToArgvW(GetCommandLineW(), &argc);
    printf("hooked=%d\n", GetModuleHandleW(L"ortscope_hook.dll") != NULL);
    printf("argc=%d\n", argc);
    for (int i = 0; i < argc; i++)
        say("arg", argv[i]);
    GetCurrentDirectoryW(32768, text);
    say("cwd", text);
    if (GetEnvironmentVariableW(L"ECHO_TARGET", text, 32768) > 0)
        say("env", text);
    char line[256];
    if (fgets(line, sizeof line, stdin) != NULL)
        printf("stdin=%s", line);
    fflush(stdout);
    fprintf(stderr, "to stderr\n");
    return argc > 1 ? (int)wcstoul(argv[1], NULL, 0) : 0;
}

// SPDX-License-Identifier: MIT
// The UTF-8 arguments of this process, from the wide command line. Apart from os_win32.c because
// CommandLineToArgvW lives in shell32, which nobody else needs.
#include "common/os.h"
#include "common/utf.h"

#include <stdlib.h>
#include <windows.h>

#include <shellapi.h> // needs windows.h before it

cm_status cm_args_utf8(int argc, char *argv[], int *out_argc, char ***out_argv)
{
    (void)argc;
    (void)argv;
    int count = 0;
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &count);
    if (!wide)
        return cm_fail(CM_FAILED, "Windows did not give the command line (error %lu).",
                       (unsigned long)GetLastError());
    size_t table = ((size_t)count + 1) * sizeof(char *), text = 0;
    for (int i = 0; i < count; i++)
        text += cm_utf16_to_utf8((const uint16_t *)wide[i], CM_UTF_NUL, NULL, 0) + 1;
    char **args = malloc(table + text);
    if (!args) {
        LocalFree(wide);
        return cm_fail(CM_NO_MEMORY, "There is not enough memory for the command line.");
    }
    char *next = (char *)args + table;
    for (int i = 0; i < count; i++) {
        args[i] = next;
        size_t left = table + text - (size_t)(next - (char *)args);
        next += cm_utf16_to_utf8((const uint16_t *)wide[i], CM_UTF_NUL, next, left) + 1;
    }
    args[count] = NULL;
    LocalFree(wide);
    *out_argc = count;
    *out_argv = args;
    return CM_OK;
}

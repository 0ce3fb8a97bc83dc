// SPDX-License-Identifier: MIT
#include "bench_ort.h"

#include <stdio.h>
#include <stdlib.h>

#include <windows.h>

typedef struct api_base {
    const ort_slot *(*GetApi)(uint32_t version);
    const char *(*GetVersionString)(void);
} api_base;

void bench_ort_load(bench_ort *ort, const wchar_t *dll)
{
    HMODULE module = LoadLibraryExW(dll, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
    const api_base *(*get_base)(void) =
        module ? (const api_base *(*)(void))(ort_slot)GetProcAddress(module, "OrtGetApiBase") : 0;
    if (!get_base) {
        fprintf(stderr, "bench: cannot load %ls\n", dll);
        exit(1);
    }
    ort->version = get_base()->GetVersionString();
    int minor = ort->minor = atoi(ort->version + 2);
    ort->table = get_base()->GetApi((uint32_t)minor);
#define X(slot, since, result, name, parameters)                                                   \
    ort->calls.name = minor >= since ? (result(*) parameters)ort->table[slot] : NULL;
    ORT_CALLS(X)
#undef X
}

void bench_must(const bench_ort *ort, OrtStatus *status, const char *what)
{
    if (!status)
        return;
    fprintf(stderr, "bench: %s failed: %s\n", what, ort->calls.GetErrorMessage(status));
    exit(1);
}

int bench_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

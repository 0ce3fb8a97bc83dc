// SPDX-License-Identifier: MIT
// odd_runs RUNTIME.dll MODEL RUNS [REAL.dll [IDLE]]: runs a model whose optional output has no
// value. REAL.dll is what odd_proxy.dll passes its calls on to when that is the runtime. IDLE
// sessions are made and released before, without a run.
#include "odd_ort.h"

#include <stdio.h>
#include <windows.h>

int wmain(int argc, wchar_t **argv);
int wmain(int argc, wchar_t **argv)
{
    if (argc < 4)
        return 2;
    if (argc > 4)
        SetEnvironmentVariableW(L"ODD_PROXY_REAL", argv[4]);
    odd_ort ort = {0};
    odd_load(&ort, argv[1], argv[2]);
    for (long left = argc > 5 ? wcstol(argv[5], NULL, 10) : 0; left > 0; left--)
        ort.call.ReleaseSession(odd_session(&ort));
    OrtSession *session = odd_session(&ort);
    int runs = 0, with_value = 0;
    for (long left = wcstol(argv[3], NULL, 10); left > 0; left--) {
        with_value += odd_run(&ort, session);
        runs++;
    }
    ort.call.ReleaseSession(session);
    ort.call.ReleaseSessionOptions(ort.options);
    ort.call.ReleaseEnv(ort.env);
    printf("runs %d with a value %d\n", runs, with_value);
    return 6;
}

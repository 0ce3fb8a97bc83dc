// SPDX-License-Identifier: MIT
// odd_graph DLL MODEL FILE: ORT writes the optimised graph of a model into a file.
#include "odd_ort.h"

#include <stdio.h>

#define ALL_OPTIMISATIONS 99

int wmain(int argc, wchar_t **argv);
int wmain(int argc, wchar_t **argv)
{
    odd_ort ort;
    if (argc != 4)
        return 2;
    odd_load(&ort, argv[1], argv[2]);
    OrtStatus *status = ort.call.SetSessionGraphOptimizationLevel(ort.options, ALL_OPTIMISATIONS);
    if (!status)
        status = ort.call.SetOptimizedModelFilePath(ort.options, argv[3]);
    if (status) {
        fprintf(stderr, "odd_graph: %s\n", ort.call.GetErrorMessage(status));
        return 9;
    }
    ort.call.ReleaseSession(odd_session(&ort));
    return 0;
}

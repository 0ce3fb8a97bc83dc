// SPDX-License-Identifier: MIT
// A DLL that looks like ONNX Runtime from outside: the export, and a file version (stub_ort.rc).
__declspec(dllexport) const void *OrtGetApiBase(void);

const void *OrtGetApiBase(void)
{
    return 0;
}

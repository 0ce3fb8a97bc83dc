// SPDX-License-Identifier: MIT
// dxcore.dll for Wine, which has none: no adapters. ONNX Runtime 1.22 can't do without this library
// (later versions can), so the program that runs its models lies beside it.
#include <windows.h>

__declspec(dllexport) HRESULT WINAPI DXCoreCreateAdapterFactory(REFIID id, void **out);
__declspec(dllexport) HRESULT WINAPI DXCoreCreateAdapterFactory(REFIID id, void **out)
{
    (void)id;
    *out = NULL;
    return E_NOTIMPL;
}

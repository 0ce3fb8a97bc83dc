// SPDX-License-Identifier: MIT
#include "serve_system.h"

#include "capture_stop.h"
#include "common/utf.h"

#include <windows.h>

#include <shellapi.h>

void vw_serve_stop_install(void)
{
    vw_stop_install();
}

bool vw_serve_stopped(void)
{
    return vw_stop_presses() > 0;
}

// The token is in the browser's command line then. On Windows only this user and administrators can
// read that.
bool vw_open_browser(const char *url)
{
    uint16_t wide[600];
    cm_utf8_to_utf16(url, CM_UTF_NUL, wide, sizeof wide / sizeof *wide);
    HINSTANCE opened =
        ShellExecuteW(NULL, L"open", (const wchar_t *)wide, NULL, NULL, SW_SHOWNORMAL);
    return (INT_PTR)opened > 32;
}

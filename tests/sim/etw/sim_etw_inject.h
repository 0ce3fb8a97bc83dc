// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>

#include <windows.h>

// Loads the DLL into a process that was started suspended and has run nothing yet.
bool se_inject(HANDLE process, const WCHAR *dll);

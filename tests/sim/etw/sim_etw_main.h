// SPDX-License-Identifier: MIT
#pragma once

#include "sim_etw_session.h"

int se_status(void);              // prints the machine as JSON
int se_kernel(const WCHAR *path); // events from a script; 0: all of them were written

// SPDX-License-Identifier: MIT
// What `serve` needs of the system: Ctrl+C and a browser.
#pragma once

#include <stdbool.h>

void vw_serve_stop_install(void);
bool vw_serve_stopped(void);

// False where there is none that could be started. No other user learns the address.
bool vw_open_browser(const char *url);

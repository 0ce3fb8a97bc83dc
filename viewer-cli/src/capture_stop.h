// SPDX-License-Identifier: MIT
// Ctrl+C and its relatives during a capture.
//
// attach: the first Ctrl+C ends the capture. run: Ctrl+C reaches the program too, which usually
// ends by it, and whose last runs we want; so the first one waits for that, the second one ends the
// capture and leaves the program running. A closing console or a shutdown ends it at once.
//
// Install it before a process is launched: Ctrl+C would end us and leave the process suspended.
#pragma once

#include <stdbool.h>

void vw_stop_install(void);
bool vw_stop_requested(bool launched);

// How often it was asked for; LONG_MAX when the console closes.
long vw_stop_presses(void);

// After the capture is safely in its file: lets a closing console go on.
void vw_stop_done(void);

// SPDX-License-Identifier: MIT
// The whole terminal as a screen of ours, for `ortscope top`: keys without Enter, the alternate
// buffer, no cursor. Whatever way the process ends (return, exit, a signal, a crash, a closed
// console) the terminal is as it was. One screen per process, used by one thread.
#pragma once

#include "common/status.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    VW_KEY_NONE = 0, // the time is over
    // Bytes of ASCII stand for themselves: 'q', ' ', 27 is Escape.
    VW_KEY_UP = 256,
    VW_KEY_DOWN,
    VW_KEY_LEFT,
    VW_KEY_RIGHT,
    VW_KEY_RESIZED, // the terminal has another size
    VW_KEY_QUIT,    // Ctrl+C, a signal, a closed console or input
};

// CM_USAGE where standard input or output is no terminal.
cm_status vw_screen_open(void);
// Puts everything back; may be called at any time, also without a screen.
void vw_screen_close(void);

// Columns and rows now; 80 x 24 where nobody knows.
void vw_screen_size(unsigned *columns, unsigned *rows);

// The next key, or VW_KEY_NONE after `timeout_ms`.
int vw_screen_key(unsigned timeout_ms);

// What a terminal sends, as keys: takes one key off the front of `bytes` (*taken of them). A
// sequence that nobody knows is VW_KEY_NONE; a lone Escape is 27.
int vw_screen_decode(const char *bytes, size_t len, size_t *taken);

// Whether `bytes` may be the begin of a sequence whose rest is still on its way; a lone Escape may.
bool vw_screen_is_cut(const char *bytes, size_t len);

// Escape sequences that take and give back the screen.
#define VW_SCREEN_ENTER "\x1b[?1049h\x1b[?25l\x1b[2J\x1b[H"
#define VW_SCREEN_LEAVE "\x1b[0m\x1b[?25h\x1b[?1049l"

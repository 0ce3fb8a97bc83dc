// SPDX-License-Identifier: MIT
// Scripts of the stand-ins: lines of words. See README.md.
#pragma once

#include <stdint.h>

#include <windows.h>

#define SIM_WORDS 8
#define SIM_LINES 512

typedef struct sim_line {
    long at; // from which reading on
    int count;
    char *words[SIM_WORDS];
} sim_line;

typedef struct sim_script {
    sim_line lines[SIM_LINES];
    int count;
} sim_script;

// The file beside `module` that has its name and the ending .sim; empty where there is none.
void sim_script_load(HMODULE module, sim_script *out);

// Whether it is the command with so many words (the command counts), due at reading `now`.
int sim_is(const sim_line *line, const char *command, int words);
uint32_t sim_number(const char *word);

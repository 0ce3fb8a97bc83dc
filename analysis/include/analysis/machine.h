// SPDX-License-Identifier: MIT
// What a timeline tells once about the machine: its rows of kind `fact`, to be asked by name.
#pragma once

#include "analysis/devices.h"
#include "timeline/timeline.h"

#include <stdbool.h>

#define AN_MAX_FACTS 1024u
#define AN_ONLY      (-1) // the number of a thing of which there is one

typedef struct an_fact {
    char *about, *name, *text; // never NULL; text "": it is a number
    int64_t number, value;
} an_fact;

typedef struct an_machine {
    an_fact *facts;
    size_t count, capacity;
} an_machine;

cm_status an_machine_add(an_machine *m, const tm_reader *reader, const tm_block *block);
void an_machine_deinit(an_machine *m);

// NULL and NAN where nobody told.
const char *an_machine_text(const an_machine *m, const char *about, int64_t number,
                            const char *name);
double an_machine_number(const an_machine *m, const char *about, int64_t number, const char *name);
// How many of a thing there are: one more than the greatest number.
int64_t an_machine_count(const an_machine *m, const char *about);

// Which GPU or NPU of the machine a measured device is: by the name of its adapter, or by its own.
// Of several with the same name the n-th, if it is the n-th measured one of `devices`. -1: none.
int64_t an_machine_device(const an_machine *m, const an_accelerator *devices, size_t index);

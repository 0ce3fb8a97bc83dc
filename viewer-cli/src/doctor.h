// SPDX-License-Identifier: MIT
// What `ortscope doctor` finds out: one check for each source, and how they are shown.
#pragma once

#include "collector/facts.h"
#include "collector/probe.h"
#include "common/json.h"
#include "output.h"

typedef enum vw_state {
    VW_WORKS,
    VW_MISSING,  // something can be done about it
    VW_NOT_HERE, // this machine has nothing to tell
} vw_state;

typedef struct vw_check {
    const char *name; // of static storage
    vw_state state;
    bool essential; // without it nothing is recorded
    char what[512]; // one sentence or less
    char fix[320];  // a command or what to do, "" if nothing
} vw_check;

#define VW_CHECKS_MAX 32u

typedef struct vw_checks {
    vw_check items[VW_CHECKS_MAX];
    size_t count;
} vw_checks;

// Adds one; `what` is printf-like. Returns it, never NULL, so that a fix can be put.
vw_check *vw_check_add(vw_checks *c, const char *name, vw_state state, const char *what, ...)
    CM_PRINTF(4, 5);
void vw_check_fix(vw_check *check, const char *fix, ...) CM_PRINTF(2, 3);

// True if all essential ones work.
bool vw_checks_good(const vw_checks *c);

void vw_checks_text(vw_io *io, const vw_checks *c);
void vw_checks_json(cm_json *j, const vw_checks *c); // the value of a key

// doctor_counters.c: counters of processes, cores, devices, energy and heat.
void vw_check_counters(vw_checks *c, const co_probe *probe, const co_facts *facts);

// doctor_system.c (Windows): the way in, output, clock, console. `target` is a PID or a name, or
// NULL.
void vw_check_way_in(vw_checks *c);
void vw_check_target(vw_checks *c, const char *target);
void vw_check_surroundings(vw_checks *c, const co_facts *facts, const vw_io *io);
// doctor_etw.c (Windows): event tracing, and QNN's measurements, which come that way only.
void vw_check_etw(vw_checks *c, const co_facts *facts);

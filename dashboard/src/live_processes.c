// SPDX-License-Identifier: MIT
// Processes and their modules. Programs that start many processes must not fill the places for
// good: those that have ended make room.
#include "live_state.h"

#include <string.h>

enum { REASON_DETACHED = 1 }; // it goes on, but we no longer know how

da_process *da_process_find(da_live *l, int64_t id)
{
    for (size_t i = 0; i < l->process_count; i++)
        if (l->processes[i].id == id)
            return &l->processes[i];
    return NULL;
}

const da_module *da_module_find(const da_live *l, int64_t id)
{
    for (size_t i = 0; i < l->module_count; i++)
        if (l->modules[i].id == id)
            return &l->modules[i];
    return NULL;
}

bool da_process_is_over(da_live *l, int64_t id)
{
    const da_process *p = da_process_find(l, id);
    return !p || p->ended;
}

static bool has_sessions(const da_live *l, int64_t process)
{
    for (size_t i = 0; i < l->session_count; i++)
        if (da_session_process(l, l->sessions[i]) == process)
            return true;
    return false;
}

// The oldest that has ended and that no session is told with.
static bool make_room_for_process(da_live *l)
{
    size_t i = 0;
    while (i < l->process_count && !(l->processes[i].ended && !has_sessions(l, l->processes[i].id)))
        i++;
    if (i == l->process_count)
        return false;
    l->process_count--;
    memmove(&l->processes[i], &l->processes[i + 1], (l->process_count - i) * sizeof *l->processes);
    return true;
}

void da_on_process(da_live *l, const int64_t *row)
{
    if (l->process_count == DA_PROCESSES && !make_room_for_process(l)) {
        l->no_room++;
        return;
    }
    l->processes[l->process_count++] = (da_process){.id = row[TM_process_process],
                                                    .pid = row[TM_process_pid],
                                                    .parent = row[TM_process_parent],
                                                    .how = row[TM_process_how],
                                                    .program = row[TM_process_program]};
}

void da_end_with_process(da_live *l, da_session *s)
{
    const da_process *p = da_process_find(l, da_session_process(l, s));
    if (!p || !p->ended || p->reason == REASON_DETACHED || s->ended_ns >= 0)
        return;
    s->ended_ns = p->end_ns;
    l->some_over = true;
}

void da_on_process_end(da_live *l, const int64_t *row)
{
    da_process *p = da_process_find(l, row[TM_process_end_process]);
    if (!p)
        return;
    p->ended = true;
    p->reason = row[TM_process_end_reason];
    p->exit_code = row[TM_process_end_exit_code];
    p->end_ns = row[TM_process_end_time] > 0 ? row[TM_process_end_time] : 0;
    for (size_t i = 0; i < l->session_count; i++)
        da_end_with_process(l, l->sessions[i]);
}

static bool make_room_for_module(da_live *l)
{
    size_t i = 0;
    while (i < l->module_count && !da_process_is_over(l, l->modules[i].process))
        i++;
    if (i == l->module_count)
        return false;
    l->module_count--;
    memmove(&l->modules[i], &l->modules[i + 1], (l->module_count - i) * sizeof *l->modules);
    return true;
}

void da_on_module(da_live *l, const int64_t *row)
{
    if (l->module_count == DA_MODULES && !make_room_for_module(l)) {
        l->no_room++;
        return;
    }
    l->modules[l->module_count++] = (da_module){row[TM_module_module], row[TM_module_process],
                                                row[TM_module_path], row[TM_module_version]};
}

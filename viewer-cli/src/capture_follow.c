// SPDX-License-Identifier: MIT
// The processes of a capture: attached, recorded, their children, their ends.
#include "capture_follow.h"

#include "capture_stop.h"
#include "child_resume.h"
#include "output.h"
#include "tracelogging/channel.h"
#include "tracelogging/hook_contract.h"

#include <stdio.h>
#include <stdlib.h>

#include <windows.h>

static tl_section_header *header_of(const vw_followed *f)
{
    return f->target->section_view;
}

cm_status vw_disarm_after(inj_target *target, cm_status status)
{
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", cm_error_text(status));
    inj_disarm(target);
    return cm_fail(status, "%s", sentence);
}

cm_status vw_follow_attach(const vw_loop *l, inj_target *target)
{
    if (l->count == VW_FOLLOWED_MAX)
        return cm_fail(CM_UNSUPPORTED, "More than %u processes at once can't be followed.",
                       VW_FOLLOWED_MAX);
    return l->options->no_hooks ? CM_OK
                                : inj_attach(target, l->options->channel, l->options->hook_flags);
}

cm_status vw_follow_record(vw_loop *l, inj_target *target, int how, uint32_t parent_id)
{
    char *command_line = l->options->command_line ? inj_command_line_of(target) : NULL;
    co_target facts = {.section = target->section_view,
                       .ring_count = target->channel.ring_count,
                       .ring_bytes = target->channel.ring_bytes,
                       .pid = target->pid,
                       .parent_id = parent_id,
                       .how = how,
                       .program = target->program,
                       .command_line = command_line};
    vw_followed f = {.target = target, .root = how != HOW_CHILD};
    cm_status status = co_target_add(l->capture, &facts, &f.id);
    free(command_line);
    if (status != CM_OK)
        return vw_disarm_after(target, status);
    l->followed[l->count++] = f;
    co_counters_follow(l->counters, f.id, target->pid, target->process);
    return CM_OK;
}

void vw_follow_end(vw_loop *l, size_t i, int reason, int64_t exit_code)
{
    co_counters_unfollow(l->counters, l->followed[i].id);
    co_target_end(l->capture, l->followed[i].id, reason, exit_code);
    inj_target_close(l->followed[i].target);
    l->followed[i] = l->followed[--l->count];
}

// Whoever started the child and died meanwhile can't let it run any more.
static void run_orphan(vw_loop *l, const vw_followed *parent, inj_target *child)
{
    uint32_t exit_code;
    if (inj_target_exit_code(parent->target, &exit_code) && vw_child_resume(child) != CM_OK)
        co_capture_log(l->capture, parent->id, 3, cm_error_text(CM_FAILED));
}

// From outside, by event tracing.
static void watch_child(vw_loop *l, const vw_followed *parent, uint32_t pid)
{
    inj_target *child = NULL;
    cm_status status = inj_open_to_watch(pid, parent->target, &child);
    if (status == CM_OK && l->count < VW_FOLLOWED_MAX)
        status = vw_follow_record(l, child, HOW_CHILD, parent->id);
    if (status != CM_OK)
        co_capture_log(l->capture, parent->id, 3, cm_error_text(status));
    if (child && (status != CM_OK || l->followed[l->count - 1].target != child))
        inj_target_close(child);
}

void vw_follow_etw_child(void *context, uint32_t parent_id, uint32_t pid)
{
    vw_loop *l = context;
    for (size_t i = 0; i < l->count && l->options->no_hooks; i++) {
        if (l->followed[i].id != parent_id || !(l->options->hook_flags & ORT_HOOK_FOLLOW_CHILDREN))
            continue;
        vw_followed parent = l->followed[i];
        watch_child(l, &parent, pid);
        return;
    }
}

static void follow_child(vw_loop *l, const vw_followed *parent, uint32_t pid)
{
    inj_target *child = NULL;
    cm_status status = inj_open_child(parent->target, pid, &child);
    if (status == CM_OK)
        status = vw_follow_attach(l, child);
    if (status == CM_OK)
        status = vw_follow_record(l, child, HOW_CHILD, parent->id);
    char text[1200];
    if (status != CM_OK) {
        snprintf(text, sizeof text, "Child process %u is not followed: %s", pid,
                 cm_error_text(status));
        co_capture_log(l->capture, parent->id, 3, text);
    }
    if (child)
        run_orphan(l, parent, child);
    if (child && status != CM_OK)
        inj_target_close(child);
    if (status != CM_OK && co_etw_parts(l->etw) & CO_ETW_ORT)
        watch_child(l, parent, pid);
}

void vw_follow_children(vw_loop *l, size_t i)
{
    if (!header_of(&l->followed[i]))
        return; // not hooked
    tl_child_mailbox *mailbox = &header_of(&l->followed[i])->child;
    uint32_t request = atomic_load(&mailbox->request);
    if (request == l->followed[i].child_requests_seen)
        return;
    l->followed[i].child_requests_seen = request;
    if (l->options->hook_flags & ORT_HOOK_FOLLOW_CHILDREN) {
        vw_followed parent = l->followed[i];
        follow_child(l, &parent, atomic_load(&mailbox->pid));
    }
    atomic_store(&mailbox->reply, request);
    SetEvent(l->followed[i].target->wake_hook);
}

static void note_root_end(vw_loop *l, const vw_followed *f, uint32_t exit_code)
{
    if (!f->root)
        return;
    l->root_ended = true;
    l->presses_at_root_end = vw_stop_presses();
    l->result->target_exited = true;
    l->result->exit_code = exit_code;
    size_t others = l->count - 1;
    if (others && !l->ending)
        vw_message("process %u has ended; %zu process%s that it started %s still recorded, until "
                   "the end or Ctrl+C",
                   f->target->pid, others, others == 1 ? "" : "es", others == 1 ? "is" : "are");
}

bool vw_follow_check_end(vw_loop *l, size_t i)
{
    inj_target *target = l->followed[i].target;
    uint32_t exit_code;
    if (inj_target_exit_code(target, &exit_code)) {
        vw_follow_children(l, i); // it may have asked after the last time
        note_root_end(l, &l->followed[i], exit_code);
        vw_follow_end(l, i, END_EXITED, exit_code);
        return true;
    }
    const tl_section_header *header = header_of(&l->followed[i]);
    if (header && atomic_load(&header->phase) == TL_HOOK_DETACHED) {
        vw_follow_end(l, i, END_DETACHED, -1);
        return true;
    }
    return false;
}

// SPDX-License-Identifier: MIT
// Sessions and their buffers. Everything here wants the machine's lock held, except where it says
// so.
#pragma once

#include "sim_etw_machine.h"

// A new session's slot with everything but names and properties cleared, or null: no room. Its
// buffers are taken from the section; `max_buffers` may come out smaller.
se_session *se_session_make(uint32_t buffer_bytes, uint32_t min_buffers, uint32_t max_buffers);
se_session *se_session_named(const WCHAR *name);
se_session *se_session_of_handle(uint64_t handle); // also a draining one
uint64_t se_session_handle(const se_session *s);
uint32_t se_session_slot(const se_session *s);
uint32_t se_sessions_running(uint32_t mode_bits); // those with all of these bits

int64_t se_session_now(const se_session *s); // in its clock; no lock needed

// Room for a record (its size is rounded up to 8) that begins nowhere else; null: no free buffer.
// Nothing is recorded before se_commit of the same size.
uint8_t *se_reserve(se_session *s, uint32_t cpu, uint32_t bytes);
void se_commit(se_session *s, uint32_t cpu, uint32_t bytes);
uint32_t se_cpu(const se_session *s); // the stream that this thread writes to now

// Hands over what is in the current buffers.
void se_flush(se_session *s);
// After STOPPING or RUNNING: to DRAINING if somebody reads, else to FREE.
void se_session_finish(se_session *s);
void se_session_leave(se_session *s); // its consumer has left

uint8_t *se_buffer_bytes(const se_session *s, uint32_t index);
void se_buffer_release(se_session *s, uint32_t index);
uint32_t se_buffers_in(const se_session *s, se_buffer_state state);

// What ETW tells of a provider: the sessions' wishes together. False: nobody has it enabled.
typedef struct se_wish {
    uint64_t any, all;
    uint8_t level;
} se_wish;
bool se_wish_of(const GUID *provider, uint32_t pid, se_wish *out);
se_enable *se_enable_of(se_session *s, const GUID *provider);
bool se_enable_has_pid(const se_enable *e, uint32_t pid);
bool se_enable_takes(const se_enable *e, uint8_t level, uint64_t keyword);
bool se_enable_takes_id(const se_enable *e, uint16_t id);

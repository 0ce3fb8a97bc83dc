// SPDX-License-Identifier: MIT
// What sessions.c and sessions_hidden.c share.
#pragma once

#include "registry.h"
#include "sessions.h"

// `id`: the number that it was given when it was begun, 0: none yet. NULL: memory is short.
hk_session *hk_session_alloc(hk_module *m, uint32_t id);
void hk_session_free(void *session);

// False: there are more sessions than we track.
bool hk_session_remember(hk_thread *t, uint32_t epoch, const OrtSession *key, hk_session *s);
// For the session `newest`; false: none can go.
bool hk_session_make_room(hk_thread *t, uint32_t epoch, uint32_t newest);

// For looking at all of them, see hk_registry_at.
uint32_t hk_sessions_used(void);
hk_session *hk_session_at(uint32_t i);

// The module and ORT's number of a hidden session; NULL if it is none or has ended.
const hk_module *hk_session_hidden_module(hk_session_ref ref, uint32_t *ort_id);

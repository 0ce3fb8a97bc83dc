// SPDX-License-Identifier: MIT
// The parts of a session's creation: reading the model, optimising and partitioning it, creating
// kernels and preparing weights.
//
// A part begins where ORT enters one of two functions of its own, InferenceSession::Initialize and
// SaveInitializedTensors. Each is the only one that mentions a certain line of the log, which is
// how it is found (api_map.h, LITERAL); where it is not found, the parts on both sides of that
// boundary are not told. Their signatures differ between versions and do not matter: the hook notes
// the time and jumps on, so that nothing of us is on the stack when they run, return or throw.
//
// Where ORT is used without its C API (tap.h), its own events tell where a session's creation and
// its optimising begin (the former since 1.24.3), and where it ends.
#pragma once

#include "sessions.h"

// Tells what is known of the creation of session `id`. Of one that failed only the parts that were
// over are told. `begin` 0: when it began is not known.
void hk_phases_emit(hk_thread *t, uint32_t epoch, uint32_t id, const hk_session_origin *origin,
                    bool failed);

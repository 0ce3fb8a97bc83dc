// SPDX-License-Identifier: MIT
// What the files that turn events into rows share.
#pragma once

#include "capture_internal.h"

#define NUMBER(field) values[TL_##field].number
#define TEXT(field)   co_intern(c, values[TL_##field].text, values[TL_##field].count)

static inline int64_t co_session_id(co_capture *c, const target_state *t, int64_t number)
{
    return co_ids_get(&c->sessions, t->id, number);
}

static inline int64_t co_shape_id(co_capture *c, const target_state *t, int64_t number)
{
    return co_ids_get(&c->shapes, t->id, number);
}

static inline int64_t co_module_id(co_capture *c, const target_state *t, int64_t number)
{
    return co_ids_get(&c->modules, t->id, number);
}

// rows_memory.c
void co_allocator_row(co_capture *c, const target_state *t, int64_t id, int64_t ticks,
                      const tl_field_value *values);
void co_alloc_row(co_capture *c, const target_state *t, int64_t allocator, int64_t ticks,
                  int64_t thread, const tl_field_value *values);
void co_memory_row(co_capture *c, const target_state *t, int64_t allocator, int64_t ticks,
                   const tl_field_value *values);
void co_run_memory_row(co_capture *c, int64_t session, int64_t ticks, const tl_field_value *values);

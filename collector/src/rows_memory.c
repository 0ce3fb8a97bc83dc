// SPDX-License-Identifier: MIT
// What the events about memory mean in the timeline. See rows.c.
#include "rows.h"

void co_allocator_row(co_capture *c, const target_state *t, int64_t id, int64_t ticks,
                      const tl_field_value *values)
{
    const int64_t row[] = {[TM_allocator_allocator] = id,
                           [TM_allocator_session] = co_session_id(c, t, NUMBER(Allocator_session)),
                           [TM_allocator_module] = co_module_id(c, t, NUMBER(Allocator_module)),
                           [TM_allocator_time] = ticks,
                           [TM_allocator_type] = NUMBER(Allocator_type),
                           [TM_allocator_source] = NUMBER(Allocator_source),
                           [TM_allocator_name] = TEXT(Allocator_name),
                           [TM_allocator_allocator_class] = TEXT(Allocator_allocator_class)};
    co_pending_add(&c->pending, TM_KIND_allocator, row);
}

void co_alloc_row(co_capture *c, const target_state *t, int64_t allocator, int64_t ticks,
                  int64_t thread, const tl_field_value *values)
{
    const int64_t row[] = {[TM_alloc_allocator] = allocator,
                           [TM_alloc_time] = ticks,
                           [TM_alloc_thread] = thread,
                           [TM_alloc_action] = NUMBER(Alloc_action),
                           [TM_alloc_address] = NUMBER(Alloc_address),
                           [TM_alloc_bytes] = NUMBER(Alloc_bytes),
                           [TM_alloc_kernel] = co_ids_get(&c->kernels, t->id, NUMBER(Alloc_kernel)),
                           [TM_alloc_session] = co_session_id(c, t, NUMBER(Alloc_session)),
                           [TM_alloc_run] = NUMBER(Alloc_run),
                           [TM_alloc_flags] = NUMBER(Alloc_flags)};
    co_pending_add(&c->pending, TM_KIND_alloc, row);
}

void co_memory_row(co_capture *c, const target_state *t, int64_t allocator, int64_t ticks,
                   const tl_field_value *values)
{
    const int64_t row[] = {[TM_memory_allocator] = allocator,
                           [TM_memory_session] = co_session_id(c, t, NUMBER(Memory_session)),
                           [TM_memory_run] = NUMBER(Memory_run),
                           [TM_memory_time] = ticks,
                           [TM_memory_held_bytes] = NUMBER(Memory_held_bytes),
                           [TM_memory_in_use_bytes] = NUMBER(Memory_in_use_bytes),
                           [TM_memory_peak_bytes] = NUMBER(Memory_peak_bytes),
                           [TM_memory_largest_bytes] = NUMBER(Memory_largest_bytes),
                           [TM_memory_limit_bytes] = NUMBER(Memory_limit_bytes),
                           [TM_memory_allocations] = NUMBER(Memory_allocations),
                           [TM_memory_reserves] = NUMBER(Memory_reserves),
                           [TM_memory_extensions] = NUMBER(Memory_extensions),
                           [TM_memory_shrinks] = NUMBER(Memory_shrinks),
                           [TM_memory_source] = NUMBER(Memory_source)};
    co_pending_add(&c->pending, TM_KIND_memory, row);
}

void co_run_memory_row(co_capture *c, int64_t session, int64_t ticks, const tl_field_value *values)
{
    const int64_t row[] = {[TM_run_memory_session] = session,
                           [TM_run_memory_run] = NUMBER(RunMemory_run),
                           [TM_run_memory_time] = ticks,
                           [TM_run_memory_allocated_bytes] = NUMBER(RunMemory_allocated_bytes),
                           [TM_run_memory_freed_bytes] = NUMBER(RunMemory_freed_bytes),
                           [TM_run_memory_peak_bytes] = NUMBER(RunMemory_peak_bytes),
                           [TM_run_memory_live_bytes] = NUMBER(RunMemory_live_bytes),
                           [TM_run_memory_allocations] = NUMBER(RunMemory_allocations),
                           [TM_run_memory_frees] = NUMBER(RunMemory_frees),
                           [TM_run_memory_grown_bytes] = NUMBER(RunMemory_grown_bytes)};
    co_pending_add(&c->pending, TM_KIND_run_memory, row);
}

// SPDX-License-Identifier: MIT
// Every kind of row that a timeline holds, with its columns: the single source for the writer, the
// reader, the header of each file (which repeats this table, so that a file explains itself) and
// docs/timeline-format.md.
//
// Column types; every value is an int64_t in memory:
//   TIME  nanoseconds since the start of the capture      DUR  nanoseconds
//   INT   a number                                        ID   refers to a row of another kind
//   STR   an interned string's id, 0 = none               U64  64 unsigned bits (hashes, ticks)
// Ids (process, module, session, shape set) are unique in a file and start at 1; 0 = none.
// Columns are only ever appended. -1 in an INT means "not known" unless it says otherwise.
#pragma once

#define TM_COLUMNS_process(C)                                                                      \
    C(process, ID)                                                                                 \
    C(pid, INT) C(parent, ID) C(time, TIME) C(how, INT) C(program, STR) C(command_line, STR)
// command_line: only where somebody asked for it (--command-line). how: 0 launched, 1 attached, 2
// child of a followed process, 3 found in a recording of the system, 4 watched from outside
#define TM_COLUMNS_process_end(C) C(process, ID) C(time, TIME) C(reason, INT) C(exit_code, INT)
// reason: 0 exited, 1 detached or capture stopped (exit_code -1), 2 killed by us
#define TM_COLUMNS_module(C)                                                                       \
    C(module, ID)                                                                                  \
    C(process, ID)                                                                                 \
    C(time, TIME) C(path, STR) C(version, STR) C(build, STR) C(hooked, INT) C(refused, INT)
#define TM_COLUMNS_module_end(C) C(module, ID) C(time, TIME)
#define TM_COLUMNS_env(C)                                                                          \
    C(module, ID) C(time, TIME) C(action, INT) C(status, INT) C(log_id, STR) C(thread, INT)
// action: 0 created, 1 released
#define TM_COLUMNS_session(C)                                                                      \
    C(session, ID)                                                                                 \
    C(module, ID)                                                                                  \
    C(time, TIME)                                                                                  \
    C(load, DUR)                                                                                   \
    C(source, INT)                                                                                 \
    C(status, INT)                                                                                 \
    C(model, STR)                                                                                  \
    C(model_bytes, INT)                                                                            \
    C(model_hash, U64)                                                                             \
    C(graph, STR) C(producer, STR) C(options, STR) C(providers, STR) C(message, STR) C(thread, INT)
// source: 0 path, 1 bytes, 2 path + prepacked, 3 bytes + prepacked, 4 model editor, 5 editor path,
// 6 editor bytes, 7 existed before the attach (load 0), 8 seen by ORT's own events. status: ORT's
// error code, 0 = ok; a failed creation has a session id of its own and no runs. options:
// "key=value" joined by newlines. providers: names in order, joined by commas.
#define TM_COLUMNS_session_end(C) C(session, ID) C(time, TIME) C(thread, INT)
#define TM_COLUMNS_shape(C)                                                                        \
    C(shape, ID) C(session, ID) C(direction, INT) C(tensors, INT) C(batch, INT)
// One set of tensors. direction: 0 inputs, 1 outputs. batch: first dimension of the first tensor
// that has one (an assumption), -1 = none.
#define TM_COLUMNS_tensor(C)                                                                       \
    C(shape, ID) C(index, INT) C(name, STR) C(onnx_type, INT) C(element_type, INT) C(dims, STR)
// dims: "1,3,48,192"; "" is a scalar. element_type: ONNXTensorElementDataType.
#define TM_COLUMNS_run(C)                                                                          \
    C(session, ID)                                                                                 \
    C(run, INT)                                                                                    \
    C(thread, INT)                                                                                 \
    C(begin, TIME)                                                                                 \
    C(duration, DUR) C(call, INT) C(status, INT) C(in_flight, INT) C(inputs, ID) C(outputs, ID)
// run: number within the session, from 1. call: 0 Run, 1 RunWithBinding, 2 RunAsync. in_flight:
// runs of this session under way when this one began, itself included. call 3: seen by ORT's own
// events, because the program bypasses the C API.
#define TM_COLUMNS_log(C)                                                                          \
    C(process, ID)                                                                                 \
    C(time, TIME) C(level, INT) C(session, ID) C(run, INT) C(code, INT) C(message, STR)
// level: 1 critical, 2 error, 3 warning, 4 information, 5 verbose (as in ETW). A failed run's
// message from ORT is a log row with its session and run.
#define TM_COLUMNS_lost(C) C(process, ID) C(time, TIME) C(cause, INT) C(events, INT)
// cause: 0 ring full, 1 no free ring, 2 damaged channel, 3 undecodable record, 4 more rows, numbers
// or texts than we have memory for or a file takes (process 0; of a text only itself is missing), 5
// Windows' event tracing had no room, 6 damaged or unknown parts of a recording (process 0). Live,
// process 0: 7 buffers that event tracing could not hand on, 8 buffers that were not read in time
// (7 and 8: `events` counts buffers, nobody knows what was in them), 9 our own queue was full
#define TM_COLUMNS_clock(C) C(time, TIME) C(ticks, U64) C(qpc, U64) C(utc, U64)
// utc: nanoseconds since 1970
#define TM_COLUMNS_overhead(C) C(process, ID) C(time, TIME) C(per_run, DUR)
// what recording one run cost the target, measured there in a sample of the runs
#define TM_COLUMNS_kernel(C)                                                                       \
    C(kernel, ID)                                                                                  \
    C(session, ID)                                                                                 \
    C(module, ID)                                                                                  \
    C(time, TIME)                                                                                  \
    C(node, STR)                                                                                   \
    C(op_type, STR)                                                                                \
    C(domain, STR)                                                                                 \
    C(opset, INT) C(provider, STR) C(kernel_class, STR) C(source, INT) C(submits, INT)
// One operator of a session's graph. source: who told its identity: 1 C API, 2 validated
// structures, 3 C++ class name, 4 execution-provider shim (domain and opset are not told). submits:
// 1 if its provider is asynchronous: times are those of the submission, not of the device.
#define TM_COLUMNS_kernel_shape(C)                                                                 \
    C(kernel, ID)                                                                                  \
    C(time, TIME)                                                                                  \
    C(inputs, ID)                                                                                  \
    C(outputs, ID)                                                                                 \
    C(run_inputs, ID) C(parameter_bytes, INT) C(activation_bytes, INT) C(output_bytes, INT)
// What a kernel was given (shape sets), when the session was given run_inputs.
#define TM_COLUMNS_kernel_end(C) C(kernel, ID) C(time, TIME)
#define TM_COLUMNS_op(C)                                                                           \
    C(kernel, ID)                                                                                  \
    C(session, ID)                                                                                 \
    C(run, INT) C(thread, INT) C(begin, TIME) C(duration, DUR) C(depth, INT) C(flags, INT)
// One execution of a kernel. run: as in run rows, 0 = the session as a whole, or loading. depth:
// kernels around it on this thread (Loop, If, Scan). flags: 1 inside session creation, 2 the run is
// ambiguous, 4 the kernel failed.
#define TM_COLUMNS_allocator(C)                                                                    \
    C(allocator, ID)                                                                               \
    C(session, ID)                                                                                 \
    C(module, ID) C(time, TIME) C(type, INT) C(source, INT) C(name, STR) C(allocator_class, STR)
// type: 1 C API, 2 arena, 3 without an arena. source: how it was found: 1 C API, 2 class name, 3 a
// literal in its code or a live object.
#define TM_COLUMNS_alloc(C)                                                                        \
    C(allocator, ID)                                                                               \
    C(time, TIME)                                                                                  \
    C(thread, INT)                                                                                 \
    C(action, INT)                                                                                 \
    C(address, U64) C(bytes, INT) C(kernel, ID) C(session, ID) C(run, INT) C(flags, INT)
// One allocation or release. action: 0 allocated, 1 released (bytes 0: size not known), 2 reserved
// past the arena's bins. kernel: under way on that thread, 0 = none. flags: as in op rows, 4
// failed.
#define TM_COLUMNS_memory(C)                                                                       \
    C(allocator, ID)                                                                               \
    C(session, ID)                                                                                 \
    C(run, INT)                                                                                    \
    C(time, TIME)                                                                                  \
    C(held_bytes, INT)                                                                             \
    C(in_use_bytes, INT)                                                                           \
    C(peak_bytes, INT)                                                                             \
    C(largest_bytes, INT)                                                                          \
    C(limit_bytes, INT)                                                                            \
    C(allocations, INT) C(reserves, INT) C(extensions, INT) C(shrinks, INT) C(source, INT)
// The state of an arena, taken after a run (0: not after a run). Numbers count from the arena's
// beginning. limit_bytes 0 = none. source: 1 AllocatorGetStats, 2 the arena itself.
#define TM_COLUMNS_run_memory(C)                                                                   \
    C(session, ID)                                                                                 \
    C(run, INT)                                                                                    \
    C(time, TIME)                                                                                  \
    C(allocated_bytes, INT)                                                                        \
    C(freed_bytes, INT)                                                                            \
    C(peak_bytes, INT) C(live_bytes, INT) C(allocations, INT) C(frees, INT) C(grown_bytes, INT)
// What one run allocated, counted in the hook; a run without a row allocated nothing. run 0: of
// several runs that were under way, on other threads than theirs. peak_bytes: most of its own at
// once. live_bytes: what the session holds after it, -1 = not known. grown_bytes: what arenas took
// from the system.
#define TM_COLUMNS_ort_event(C)                                                                    \
    C(module, ID)                                                                                  \
    C(time, TIME)                                                                                  \
    C(session, ID) C(ort_session, INT) C(thread, INT) C(level, INT) C(name, STR) C(fields, STR)
// An event that ONNX Runtime itself told. fields: "key=value" joined by newlines.
#define TM_COLUMNS_phase(C)                                                                        \
    C(session, ID) C(begin, TIME) C(duration, DUR) C(phase, INT) C(source, INT)
// A part of a session's creation. phase: 1 reading the model, 2 optimising and partitioning, 3
// kernels and weights. source: who told the boundaries: 1 ORT's events, 2 kernels and allocations,
// 3 where ORT enters its functions.
#define TM_COLUMNS_kernel_memory(C)                                                                \
    C(kernel, ID)                                                                                  \
    C(run, INT) C(time, TIME) C(change_bytes, INT) C(in_use_bytes, INT) C(held_bytes, INT)
// What an execution of a kernel took from its arena (negative: gave back), told by the shim when it
// is another amount than the last time. in_use_bytes, held_bytes: the arena's, after it.
#define TM_COLUMNS_op_choice(C) C(time, TIME) C(mode, INT) C(value, INT) C(left_out, INT)
// Whose operators are in the file; without this row: those of all runs. mode: 0 all runs, 1 none, 2
// every value-th run of a session, 3 runs longer than value nanoseconds, 4 the slowest value
// millionths of a session's runs (each compared with those before it). left_out: executions until
// then that are not in the file because it is not known which run they belong to.
#define TM_COLUMNS_mark(C) C(time, TIME) C(text, STR)
#define TM_COLUMNS_counter(C)                                                                      \
    C(counter, ID)                                                                                 \
    C(time, TIME)                                                                                  \
    C(source, STR)                                                                                 \
    C(name, STR)                                                                                   \
    C(unit, STR)                                                                                   \
    C(per_unit, INT)                                                                               \
    C(total, INT) C(about, INT) C(process, ID) C(number, INT) C(subject, STR)
// Something that is measured again and again. A sample's value divided by per_unit is in `unit`.
// total: 1 if it counts up from any start (rates are differences), 0 if it is a level. about: 0
// the machine, 1 a process, 2 a thread, 3 a core, 4 a device. process: the followed process, 0 =
// none. number: process (of one that is not followed), thread, core or device, -1 = none. subject:
// a device's or instance's own name.
#define TM_COLUMNS_sample(C) C(counter, ID) C(time, TIME) C(value, INT) C(known, INT)
// A row for each value that differs from the counter's one before: it holds until the next. known:
// 0 = the system does not tell, or what it is about has gone; value is then 0.
#define TM_COLUMNS_sampling(C) C(time, TIME) C(source, STR) C(interval_us, INT) C(reason, INT)
// How often a source is asked from now on. reason: 0 the beginning, 1 slowed down to keep its cost
// within --max-overhead, 2 faster again, 3 the source has ended (interval 0).

// What the system itself tells (Windows' event tracing). Threads are the system's numbers, -1 = not
// known; processes are numbers of process or bystander rows, 0 = not known.
#define TM_COLUMNS_bystander(C)                                                                    \
    C(process, ID) C(pid, INT) C(parent, INT) C(time, TIME) C(program, STR)
// A process that is not followed. parent: its parent's pid. time: its start, 0 if it was there.
#define TM_COLUMNS_thread(C) C(process, ID) C(thread, INT) C(time, TIME) C(action, INT) C(name, STR)
// action: 0 started, 1 ended, 2 was there at the beginning, 3 is there at the end, 4 got its name
#define TM_COLUMNS_image(C)                                                                        \
    C(process, ID)                                                                                 \
    C(time, TIME)                                                                                  \
    C(action, INT) C(base, U64) C(bytes, INT) C(checksum, INT) C(stamp, INT) C(path, STR)
// A program or library in a followed process. action: 0 loaded, 1 unloaded, 2 and 3 as of threads.
#define TM_COLUMNS_sched(C)                                                                        \
    C(time, TIME)                                                                                  \
    C(cpu, INT)                                                                                    \
    C(new_thread, INT)                                                                             \
    C(new_process, ID)                                                                             \
    C(old_thread, INT)                                                                             \
    C(old_process, ID)                                                                             \
    C(new_priority, INT)                                                                           \
    C(old_priority, INT) C(state, INT) C(wait_reason, INT) C(wait_mode, INT) C(waited, INT)
// A processor goes from one thread to another (0: idle). state, wait_reason and wait_mode are the
// old thread's, as KTHREAD_STATE and KWAIT_REASON: state 1, 3 or 7 is still ready (preempted), 5
// waits. waited: the new one's wait in ticks of the system's timer.
#define TM_COLUMNS_ready(C)                                                                        \
    C(time, TIME)                                                                                  \
    C(cpu, INT)                                                                                    \
    C(thread, INT)                                                                                 \
    C(process, ID)                                                                                 \
    C(by_thread, INT) C(by_process, ID) C(reason, INT) C(increment, INT) C(flags, INT)
// A thread may run again, made so by another one. flags: 1 by a deferred procedure call (then
// by_thread is -1), 2 its kernel stack, 4 its process was not in memory.
#define TM_COLUMNS_profile(C)                                                                      \
    C(time, TIME)                                                                                  \
    C(cpu, INT) C(thread, INT) C(process, ID) C(address, U64) C(count, INT) C(flags, INT)
// Where a processor was when the sampling timer struck. flags: 1 in a deferred procedure call, 2 in
// an interrupt.
#define TM_COLUMNS_fault(C)                                                                        \
    C(time, TIME)                                                                                  \
    C(cpu, INT)                                                                                    \
    C(thread, INT) C(process, ID) C(fault, INT) C(address, U64) C(duration, DUR) C(bytes, INT)
// A page was not there. fault: 0 in transition, 1 demand zero, 2 copy on write, 3 guard page, 4 to
// be read, 5 access violation, 6 read from disk, from `time` on (duration, bytes; 0 in the others)
#define TM_COLUMNS_disk(C)                                                                         \
    C(begin, TIME)                                                                                 \
    C(duration, DUR)                                                                               \
    C(thread, INT) C(process, ID) C(action, INT) C(disk, INT) C(bytes, INT) C(offset, INT)
// action: 0 read, 1 write, 2 flush
#define TM_COLUMNS_interrupt(C)                                                                    \
    C(begin, TIME) C(duration, DUR) C(cpu, INT) C(what, INT) C(routine, U64)
// what: 0 deferred procedure call, 1 of a timer, 2 threaded, 3 interrupt
#define TM_COLUMNS_fact(C)                                                                         \
    C(time, TIME) C(about, STR) C(number, INT) C(name, STR) C(text, STR) C(value, INT)
// Something about the machine that is told once, such as ("gpu", 0, "driver", "31.0.15.3623").
// number: which of several, -1 = there is one. A fact is a text, or a number: text is then 0. What
// the system does not tell has no row.
#define TM_COLUMNS_profiling(C) C(time, TIME) C(source, INT) C(interval, DUR)
// How often profile rows come from now on, or have come all the time. source: 0 the timer; other
// numbers are hardware counters (KPROFILE_SOURCE), whose interval is a number of their events.
#define TM_COLUMNS_kernel_tensor(C)                                                                \
    C(kernel, ID) C(time, TIME) C(direction, INT) C(index, INT) C(name, STR)
// What a kernel's tensors are called in the optimised graph, where the runtime tells: a kernel that
// reads a name gets it from the kernel of the same session that makes it. direction: 0 it reads
// it, 1 it makes it. Inputs that are left out have no row. A kernel without rows: not known.

#define TM_KINDS(K)                                                                                \
    K(process)                                                                                     \
    K(process_end)                                                                                 \
    K(module)                                                                                      \
    K(module_end)                                                                                  \
    K(env)                                                                                         \
    K(session)                                                                                     \
    K(session_end)                                                                                 \
    K(shape)                                                                                       \
    K(tensor)                                                                                      \
    K(run)                                                                                         \
    K(log)                                                                                         \
    K(lost)                                                                                        \
    K(clock)                                                                                       \
    K(overhead)                                                                                    \
    K(mark)                                                                                        \
    K(kernel)                                                                                      \
    K(kernel_shape)                                                                                \
    K(kernel_end)                                                                                  \
    K(op)                                                                                          \
    K(allocator)                                                                                   \
    K(alloc)                                                                                       \
    K(memory)                                                                                      \
    K(run_memory)                                                                                  \
    K(ort_event)                                                                                   \
    K(phase)                                                                                       \
    K(op_choice)                                                                                   \
    K(counter)                                                                                     \
    K(sample)                                                                                      \
    K(sampling)                                                                                    \
    K(bystander)                                                                                   \
    K(thread)                                                                                      \
    K(image)                                                                                       \
    K(sched)                                                                                       \
    K(ready)                                                                                       \
    K(profile) K(fault) K(disk) K(interrupt) K(kernel_memory) K(fact) K(profiling) K(kernel_tensor)

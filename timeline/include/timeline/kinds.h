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
    C(process, ID) C(pid, INT) C(parent, ID) C(time, TIME) C(how, INT) C(program, STR)
// how: 0 launched, 1 attached, 2 child of a followed process
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
// 6 editor bytes, 7 existed before the attach (load 0). status: ORT's error code, 0 = ok; a failed
// creation has a session id of its own and no runs. options: "key=value" joined by newlines.
// providers: names in order, joined by commas.
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
// runs of this session under way when this one began, itself included.
#define TM_COLUMNS_log(C)                                                                          \
    C(process, ID)                                                                                 \
    C(time, TIME) C(level, INT) C(session, ID) C(run, INT) C(code, INT) C(message, STR)
// level: 1 critical, 2 error, 3 warning, 4 information, 5 verbose (as in ETW). A failed run's
// message from ORT is a log row with its session and run.
#define TM_COLUMNS_lost(C) C(process, ID) C(time, TIME) C(cause, INT) C(events, INT)
// cause: 0 ring full, 1 no free ring, 2 damaged channel, 3 undecodable record, 4 more rows, numbers
// or texts than we have memory for or a file takes (process 0; of a text only itself is missing)
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
// structures, 3 C++ class name. submits: 1 if its provider is asynchronous: times are those of the
// submission, not of the device.
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
#define TM_COLUMNS_mark(C) C(time, TIME) C(text, STR)

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
    K(run) K(log) K(lost) K(clock) K(overhead) K(mark) K(kernel) K(kernel_shape) K(kernel_end) K(op)

// SPDX-License-Identifier: MIT
// The one table of all events that the hook emits. From it come the payload structs (below), the
// encoder and decoder, the TraceLogging metadata blobs, the table that the hook writes into the
// channel so that another version can decode it, and docs/events.md.
//
// An event's payload is exactly what TraceLogging would put behind the event header: its fields
// packed, little-endian, in order. Fields of fixed size come first, so that they form a C struct
// that the hot path fills in place; strings (u16 byte count, UTF-8) and arrays (u16 element count)
// follow.
//
// Events and fields are only ever appended; a number is never used again for something else.
#pragma once

#include <stdint.h>

// Field types: U8 U16 U32 I64 U64 HEX64 (fixed), STR (counted UTF-8), I64S (counted array). Their
// TraceLogging in-types stand in src/metadata.h.

// ETW levels and our keywords
#define TL_LEVEL_ERROR   2
#define TL_LEVEL_WARNING 3
#define TL_LEVEL_INFO    4
#define TL_LEVEL_VERBOSE 5
#define TL_KW_LIFECYCLE  0x1u // modules, environments, sessions
#define TL_KW_RUN        0x2u // inferences and their shapes
#define TL_KW_LOG        0x4u
#define TL_KW_OP         0x8u // operators
#define TL_KW_MEMORY     0x10u
#define TL_KW_ORT        0x20u // what ORT itself tells
#define TL_KW_ALL        0x3fu
#define TL_LEVEL_ALWAYS  1 // passes whatever level a session asks for

// F: fixed field, V: variable field; (name, type, what it says)
#define TL_FIELDS_Module(F, V)                                                                     \
    F(module, U32, "number of the ORT module in this process, from 1")                             \
    F(hooked, U32, "API functions intercepted")                                                    \
    F(refused, U32, "API functions that could not be intercepted")                                 \
    F(base, HEX64, "load address")                                                                 \
    V(path, STR, "file of the module")                                                             \
    V(version, STR, "what GetVersionString says")                                                  \
    V(build, STR, "what GetBuildInfoString says")
#define TL_FIELDS_ModuleEnd(F, V) F(module, U32, "number of the module that was unloaded")
#define TL_FIELDS_Env(F, V)                                                                        \
    F(module, U32, "module")                                                                       \
    F(status, U32, "ORT error code, 0 = ok")                                                       \
    F(action, U8, "0 created, 1 released")                                                         \
    V(log_id, STR, "log id given by the program")
#define TL_FIELDS_Session(F, V)                                                                    \
    F(load_ticks, U64, "time that creating it took")                                               \
    F(model_bytes, U64, "size of the model where it was given as bytes")                           \
    F(model_hash, U64, "hash of these bytes")                                                      \
    F(session, U32, "number of the session in this process, from 1")                               \
    F(module, U32, "module")                                                                       \
    F(status, U32, "ORT error code, 0 = ok")                                                       \
    F(source, U8, "how it was made, see timeline/kinds.h")                                         \
    V(model, STR, "path of the model")                                                             \
    V(graph, STR, "graph name from the model's metadata")                                          \
    V(producer, STR, "producer from the model's metadata")                                         \
    V(options, STR, "key=value, one a line")                                                       \
    V(providers, STR, "execution providers in order, comma separated")                             \
    V(message, STR, "ORT's message on failure")
#define TL_FIELDS_SessionEnd(F, V) F(session, U32, "session that was released")
#define TL_FIELDS_ShapeSet(F, V)                                                                   \
    F(batch, I64, "first dimension of the first tensor that has one; -1: none")                    \
    F(set, U32, "number of this set of tensors in this process, from 1")                           \
    F(session, U32, "session")                                                                     \
    F(tensors, U16, "how many Tensor events belong to it")                                         \
    F(direction, U8, "0 inputs, 1 outputs")
#define TL_FIELDS_Tensor(F, V)                                                                     \
    F(set, U32, "set that it belongs to")                                                          \
    F(index, U16, "place in the set")                                                              \
    F(onnx_type, U8, "ONNXType: 1 tensor, 2 sequence, 3 map, ...")                                 \
    F(element_type, U8, "ONNXTensorElementDataType")                                               \
    V(name, STR, "name of the input or output")                                                    \
    V(dims, I64S, "shape")
#define TL_FIELDS_Run(F, V)                                                                        \
    F(duration_ticks, U64, "time between call and return; the event's own time is the end")        \
    F(session, U32, "session")                                                                     \
    F(run, U32, "number of the run in this session, from 1")                                       \
    F(inputs, U32, "set of the inputs, 0: not known")                                              \
    F(outputs, U32, "set of the outputs, 0: not known")                                            \
    F(in_flight, U16, "runs of the session under way when it began, itself included")              \
    F(call, U8, "0 Run, 1 RunWithBinding, 2 RunAsync")                                             \
    F(status, U8, "ORT error code, 0 = ok")
#define TL_FIELDS_Log(F, V)                                                                        \
    F(session, U32, "session, 0: none")                                                            \
    F(run, U32, "run, 0: none")                                                                    \
    F(code, U32, "ORT error code or our reason")                                                   \
    F(level, U8, "ETW level")                                                                      \
    V(message, STR, "text")
#define TL_FIELDS_Overhead(F, V)                                                                   \
    F(ticks_per_run, U64, "cost of recording one run, measured in this process when armed")

#define TL_FIELDS_Kernel(F, V)                                                                     \
    F(kernel, U32, "number of the kernel (operator instance) in this process, from 1")             \
    F(session, U32, "session, 0: not known yet")                                                   \
    F(module, U32, "module")                                                                       \
    F(opset, U32, "first opset version that it implements, 0: not known")                          \
    F(source, U8, "who told: 1 C API, 2 structures, 3 class name, 4 execution-provider shim")      \
    F(submits, U8, "1: the provider is asynchronous, times are those of the submission")           \
    V(node, STR, "name of the node in the optimised graph")                                        \
    V(op_type, STR, "operator type")                                                               \
    V(domain, STR, "operator domain, empty: ai.onnx")                                              \
    V(provider, STR, "execution provider")                                                         \
    V(kernel_class, STR, "C++ class of the kernel where the build tells it")
#define TL_FIELDS_KernelShapes(F, V)                                                               \
    F(parameter_bytes, U64, "bytes of constant inputs")                                            \
    F(activation_bytes, U64, "bytes of the other inputs")                                          \
    F(output_bytes, U64, "bytes of the outputs")                                                   \
    F(kernel, U32, "kernel")                                                                       \
    F(inputs, U32, "set of its inputs")                                                            \
    F(outputs, U32, "set of its outputs")                                                          \
    F(run_inputs, U32, "set of the session's inputs for which this holds")
#define TL_FIELDS_KernelEnd(F, V) F(kernel, U32, "kernel that was destroyed")
#define TL_FIELDS_Op(F, V)                                                                         \
    F(duration_ticks, U64, "time inside the kernel; the event's own time is the end")              \
    F(kernel, U32, "kernel")                                                                       \
    F(session, U32, "session, 0: not known")                                                       \
    F(run, U32, "run, 0: belongs to the session as a whole or to its loading")                     \
    F(depth, U8, "kernels around it: 0, or more inside Loop, If and Scan")                         \
    F(flags, U8, "1 while a session is loading, 2 the run is ambiguous, 4 the kernel failed")

#define TL_FIELDS_Allocator(F, V)                                                                  \
    F(allocator, U32, "number of the allocator in this process, from 1")                           \
    F(session, U32, "session that it belongs to, 0: none or not known")                            \
    F(module, U32, "module")                                                                       \
    F(type, U8, "1 C API, 2 arena, 3 without an arena")                                            \
    F(source, U8, "how it was found: 1 C API, 2 class name, 3 a literal or a live object")         \
    V(name, STR, "what it allocates from: Cpu, Cuda, ...")                                         \
    V(allocator_class, STR, "C++ class where the build tells it")
#define TL_FIELDS_Alloc(F, V)                                                                      \
    F(address, HEX64, "the memory, to pair allocation and release")                                \
    F(bytes, U64, "size; of a release: 0 if not known")                                            \
    F(allocator, U32, "allocator")                                                                 \
    F(kernel, U32, "kernel under way on this thread, 0: none")                                     \
    F(session, U32, "session, 0: not known")                                                       \
    F(run, U32, "run, 0: none or not known")                                                       \
    F(action, U8, "0 allocated, 1 released, 2 reserved past the arena's bins")                     \
    F(flags, U8, "1 while a session is loading, 2 the run is ambiguous, 4 it failed")
#define TL_FIELDS_Memory(F, V)                                                                     \
    F(held_bytes, U64, "what the arena has from the system")                                       \
    F(in_use_bytes, U64, "what of that is allocated")                                              \
    F(peak_bytes, U64, "most that was ever allocated at once")                                     \
    F(largest_bytes, U64, "largest single allocation")                                             \
    F(limit_bytes, U64, "what it may hold, 0: no limit")                                           \
    F(allocations, U64, "allocations so far")                                                      \
    F(reserves, U64, "allocations past the bins so far")                                           \
    F(extensions, U64, "how often the arena grew")                                                 \
    F(shrinks, U64, "how often it gave memory back")                                               \
    F(allocator, U32, "allocator")                                                                 \
    F(session, U32, "session")                                                                     \
    F(run, U32, "run after which it was taken, 0: none")                                           \
    F(source, U8, "who told: 1 AllocatorGetStats, 2 the arena itself")
#define TL_FIELDS_RunMemory(F, V)                                                                  \
    F(allocated_bytes, U64, "bytes allocated in the run")                                          \
    F(freed_bytes, U64, "bytes released in the run, as far as their size was known")               \
    F(peak_bytes, U64, "most bytes of its own that the run held at once; all ones: not known")     \
    F(live_bytes, I64, "bytes that the session holds after it, as counted by the hook; -1: no")    \
    F(session, U32, "session")                                                                     \
    F(run, U32, "run, 0: of several that were under way, whose is not known")                      \
    F(allocations, U32, "how many allocations")                                                    \
    F(frees, U32, "how many releases")                                                             \
    F(grown_bytes, U64, "bytes that arenas took from the system in it")
#define TL_FIELDS_OrtEvent(F, V)                                                                   \
    F(module, U32, "module")                                                                       \
    F(session, U32, "session, 0: none or not known")                                               \
    F(ort_session, U32, "ORT's own number of the session, 0: none")                                \
    F(level, U8, "ETW level")                                                                      \
    V(name, STR, "name of the event")                                                              \
    V(fields, STR, "key=value, one a line")
#define TL_FIELDS_Phase(F, V)                                                                      \
    F(duration_ticks, U64, "time that it took; the event's own time is the end")                   \
    F(session, U32, "session that was being created")                                              \
    F(phase, U8, "1 reading the model, 2 optimising and partitioning, 3 kernels and weights")      \
    F(source, U8,                                                                                  \
      "who told: 1 ORT's events, 2 kernels and allocations, 3 where ORT enters its functions")
#define TL_FIELDS_KernelMemory(F, V)                                                               \
    F(change_bytes, I64, "bytes in use in its arena after it, less those before it")               \
    F(in_use_bytes, U64, "bytes in use in the arena after it")                                     \
    F(held_bytes, U64, "bytes that the arena holds")                                               \
    F(kernel, U32, "kernel")                                                                       \
    F(run, U32, "run, 0: not known")

#define TL_FIELDS_Clock(F, V)                                                                      \
    F(qpc, U64, "QueryPerformanceCounter when the time-stamp counter stood at the event's ticks")  \
    F(qpc_frequency, U64, "its counts a second")

#define TL_FIELDS_KernelNames(F, V)                                                                \
    F(kernel, U32, "kernel")                                                                       \
    V(inputs, STR, "names of the tensors that it reads, one a line; empty: an input left out")     \
    V(outputs, STR, "names of those that it makes, one a line")

// name, level, keyword, one sentence
#define TL_EVENT_MAP(XX)                                                                           \
    XX(Module, TL_LEVEL_INFO, TL_KW_LIFECYCLE, "An ONNX Runtime was found and intercepted.")       \
    XX(ModuleEnd, TL_LEVEL_INFO, TL_KW_LIFECYCLE, "An ONNX Runtime was unloaded.")                 \
    XX(Env, TL_LEVEL_INFO, TL_KW_LIFECYCLE, "An environment was created or released.")             \
    XX(Session, TL_LEVEL_INFO, TL_KW_LIFECYCLE, "A session was created, failed to be, or found.")  \
    XX(SessionEnd, TL_LEVEL_INFO, TL_KW_LIFECYCLE, "A session was released.")                      \
    XX(ShapeSet, TL_LEVEL_INFO, TL_KW_RUN, "A set of inputs or outputs not seen before.")          \
    XX(Tensor, TL_LEVEL_INFO, TL_KW_RUN, "One tensor of a set.")                                   \
    XX(Run, TL_LEVEL_INFO, TL_KW_RUN, "One inference.")                                            \
    XX(Log, TL_LEVEL_ERROR, TL_KW_LOG, "A failure's message, or a remark of the hook.")            \
    XX(Overhead, TL_LEVEL_INFO, TL_KW_LIFECYCLE, "What recording costs.")                          \
    XX(Kernel, TL_LEVEL_INFO, TL_KW_OP, "A kernel that is about to be executed first.")            \
    XX(KernelShapes, TL_LEVEL_INFO, TL_KW_OP, "What a kernel was given, on first sight.")          \
    XX(KernelEnd, TL_LEVEL_INFO, TL_KW_OP, "A kernel was destroyed.")                              \
    XX(Op, TL_LEVEL_VERBOSE, TL_KW_OP, "One execution of a kernel.")                               \
    XX(Allocator, TL_LEVEL_INFO, TL_KW_MEMORY, "An allocator was seen first.")                     \
    XX(Alloc, TL_LEVEL_VERBOSE, TL_KW_MEMORY, "One allocation or release.")                        \
    XX(Memory, TL_LEVEL_INFO, TL_KW_MEMORY, "The state of an arena.")                              \
    XX(RunMemory, TL_LEVEL_INFO, TL_KW_MEMORY, "What one run allocated.")                          \
    XX(OrtEvent, TL_LEVEL_INFO, TL_KW_ORT, "An event of ONNX Runtime's own provider.")             \
    XX(Phase, TL_LEVEL_INFO, TL_KW_LIFECYCLE, "A part of a session's creation.")                   \
    XX(KernelMemory, TL_LEVEL_INFO, TL_KW_OP,                                                      \
       "What a kernel took from its arena, when that changes.")                                    \
    XX(Clock, TL_LEVEL_ALWAYS, TL_KW_ALL,                                                          \
       "Which ticks and which performance count belong together; goes to event tracing only.")     \
    XX(KernelNames, TL_LEVEL_INFO, TL_KW_OP,                                                       \
       "What a kernel's tensors are called in the graph: equal names are one tensor.")

// Event ids on the wire start at 1; 0 is padding.
typedef enum tl_event {
    TL_EVENT_PAD = 0,
#define XX(name, level, keyword, text) TL_EVENT_##name,
    TL_EVENT_MAP(XX)
#undef XX
        TL_EVENT_COUNT // one past the last
} tl_event;

// Payload structs: `tl_Run` holds the fixed fields of a Run event as they lie on the wire.
#define TL_CTYPE_U8                   uint8_t
#define TL_CTYPE_U16                  uint16_t
#define TL_CTYPE_U32                  uint32_t
#define TL_CTYPE_I64                  int64_t
#define TL_CTYPE_U64                  uint64_t
#define TL_CTYPE_HEX64                uint64_t
#define TL_STRUCT_F(name, type, text) TL_CTYPE_##type name;
#define TL_STRUCT_V(name, type, text)
#define XX(event, level, keyword, text)                                                            \
    typedef struct __attribute__((packed)) tl_##event {                                            \
        TL_FIELDS_##event(TL_STRUCT_F, TL_STRUCT_V)                                                \
    } tl_##event;
TL_EVENT_MAP(XX)
#undef XX

_Static_assert(sizeof(tl_Run) == 28, "the Run payload is on the hot path and on the wire");

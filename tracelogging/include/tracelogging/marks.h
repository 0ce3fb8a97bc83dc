// SPDX-License-Identifier: MIT
// What the collector itself tells event tracing, by the provider Ortscope-Collector: when a capture
// began and ended, which targets came and went, what was lost. One table, as in schema.h.
#pragma once

#include "tracelogging/codec.h"

#define TL_FIELDS_CaptureBegin(F, V)                                                               \
    F(utc_ns, U64, "when, in nanoseconds since 1970 UTC")                                          \
    V(file, STR, "the timeline that is written")
#define TL_FIELDS_CaptureEnd(F, V)                                                                 \
    F(runs, U64, "inferences recorded")                                                            \
    F(lost_events, U64, "events lost, whatever the cause")
#define TL_FIELDS_TargetBegin(F, V)                                                                \
    F(pid, U32, "the process")                                                                     \
    F(process, U32, "its number in the timeline")                                                  \
    F(how, U8, "0 launched, 1 attached, 2 child of a target, 4 from outside")                      \
    V(program, STR, "its program")
#define TL_FIELDS_TargetEnd(F, V)                                                                  \
    F(exit_code, I64, "its exit code, -1: not known or still running")                             \
    F(pid, U32, "the process")                                                                     \
    F(process, U32, "its number in the timeline")                                                  \
    F(reason, U8, "why, see timeline/kinds.h")
#define TL_FIELDS_Loss(F, V)                                                                       \
    F(events, U64, "how many events")                                                              \
    F(process, U32, "number of the process in the timeline, 0: none")                              \
    F(cause, U8, "why, see timeline/kinds.h")

#define TL_KW_CAPTURE 0x1u
#define TL_KW_LOSS    0x2u

// name, level, keyword, one sentence
#define TL_MARK_MAP(XX)                                                                            \
    XX(CaptureBegin, TL_LEVEL_INFO, TL_KW_CAPTURE, "A capture began.")                             \
    XX(CaptureEnd, TL_LEVEL_INFO, TL_KW_CAPTURE, "It ended, and its file is whole.")               \
    XX(TargetBegin, TL_LEVEL_INFO, TL_KW_CAPTURE, "A process is recorded from here on.")           \
    XX(TargetEnd, TL_LEVEL_INFO, TL_KW_CAPTURE, "It is no longer.")                                \
    XX(Loss, TL_LEVEL_WARNING, TL_KW_LOSS, "Events were lost.")

typedef enum tl_mark {
    TL_MARK_NONE = 0,
#define XX(name, level, keyword, text) TL_MARK_##name,
    TL_MARK_MAP(XX)
#undef XX
        TL_MARK_COUNT // one past the last
} tl_mark;

#define XX(event, level, keyword, text)                                                            \
    typedef struct __attribute__((packed)) tl_mark_##event {                                       \
        TL_FIELDS_##event(TL_STRUCT_F, TL_STRUCT_V)                                                \
    } tl_mark_##event;
TL_MARK_MAP(XX)
#undef XX

const tl_event_info *tl_mark_get(tl_mark mark); // NULL: no such mark
size_t tl_mark_metadata(unsigned mark, uint8_t *out, size_t capacity);

// SPDX-License-Identifier: MIT
#include "marks.h"

#include "collector/clock.h"
#include "tracelogging/marks.h"

#include <string.h>

void co_marks_open(co_marks *marks, const tl_etw_api *api)
{
    tl_provider_open(&marks->provider, api, TL_COLLECTOR_PROVIDER_NAME, tl_collector_provider_guid,
                     tl_mark_get((tl_mark)1), TL_MARK_COUNT, tl_mark_metadata);
}

void co_marks_close(co_marks *marks)
{
    tl_provider_close(&marks->provider);
}

static void tell(co_marks *marks, tl_mark mark, const void *fixed, uint32_t bytes, const char *text)
{
    uint16_t len = 0;
    if (!tl_provider_wants(&marks->provider, mark))
        return;
    tl_etw_part parts[3] = {{fixed, bytes}};
    if (text) {
        len = (uint16_t)strnlen(text, 4096);
        parts[1] = (tl_etw_part){&len, sizeof len};
        parts[2] = (tl_etw_part){text, len};
    }
    tl_etw_write(&marks->provider, &marks->thread, mark, 0, co_anchor_now().ticks, parts,
                 text ? 3 : 1);
}

void co_marks_capture_begin(co_marks *marks, uint64_t utc_ns, const char *file)
{
    const tl_mark_CaptureBegin fixed = {.utc_ns = utc_ns};
    tell(marks, TL_MARK_CaptureBegin, &fixed, sizeof fixed, file);
}

void co_marks_capture_end(co_marks *marks, uint64_t runs, uint64_t lost_events)
{
    const tl_mark_CaptureEnd fixed = {.runs = runs, .lost_events = lost_events};
    tell(marks, TL_MARK_CaptureEnd, &fixed, sizeof fixed, NULL);
}

void co_marks_target_begin(co_marks *marks, uint32_t pid, uint32_t process, int how,
                           const char *program)
{
    const tl_mark_TargetBegin fixed = {.pid = pid, .process = process, .how = (uint8_t)how};
    tell(marks, TL_MARK_TargetBegin, &fixed, sizeof fixed, program);
}

void co_marks_target_end(co_marks *marks, uint32_t pid, uint32_t process, int reason,
                         int64_t exit_code)
{
    const tl_mark_TargetEnd fixed = {
        .pid = pid, .process = process, .reason = (uint8_t)reason, .exit_code = exit_code};
    tell(marks, TL_MARK_TargetEnd, &fixed, sizeof fixed, NULL);
}

void co_marks_loss(co_marks *marks, uint32_t process, int cause, uint64_t events)
{
    const tl_mark_Loss fixed = {.process = process, .cause = (uint8_t)cause, .events = events};
    tell(marks, TL_MARK_Loss, &fixed, sizeof fixed, NULL);
}

// SPDX-License-Identifier: MIT
// See losses.h.
#include "losses.h"

// timeline/kinds.h: lost.cause. These are about what Windows tells live, never about the hook's
// own events.
enum { FIRST_OF_TRACING = 7, LAST_OF_TRACING = 9 };

cm_status an_losses_add(an_summary *s, const tm_reader *r, const tm_block *b, size_t row)
{
    (void)r;
    int64_t process = b->columns[TM_lost_process][row];
    int64_t cause = b->columns[TM_lost_cause][row], events = b->columns[TM_lost_events][row];
    size_t known;
    if (events <= 0)
        return CM_OK;
    size_t at = cause >= 0 && cause < AN_LOST_CAUSES - 1 ? (size_t)cause : AN_LOST_CAUSES - 1;
    s->lost[at] += (uint64_t)events;
    s->lost_total += (uint64_t)events;
    if (cause >= FIRST_OF_TRACING && cause <= LAST_OF_TRACING)
        return CM_OK;
    s->lost_of_hooks = true;
    if (process && cm_map_find(&s->process_by_id, process, &known))
        s->processes[known].lost_events = true;
    else
        s->lost_of_any = true;
    return CM_OK;
}

bool an_losses_of(const an_summary *s, const an_session *n)
{
    const an_module *module = an_summary_module(s, n->module);
    size_t at;
    if (s->damage) // a run may be there, and what it allocated not any more
        return true;
    if (!module || !cm_map_find(&s->process_by_id, module->process, &at))
        return s->lost_of_hooks;
    return s->lost_of_any || s->processes[at].lost_events;
}

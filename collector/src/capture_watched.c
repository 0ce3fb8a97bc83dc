// SPDX-License-Identifier: MIT
#include "capture_internal.h"

static co_watched *at(const co_capture *c, size_t i)
{
    return (co_watched *)(void *)c->watched.data + i;
}

// The latest of that PID that had not ended by then: Windows uses PIDs again.
co_watched *co_watched_find(const co_capture *c, uint32_t pid, uint64_t qpc)
{
    for (size_t i = c->watched.len / sizeof(co_watched); i-- > 0;)
        if (at(c, i)->pid == pid && at(c, i)->end_qpc >= qpc)
            return at(c, i);
    return NULL;
}

co_watched *co_watched_of(const co_capture *c, uint32_t id)
{
    for (size_t i = c->watched.len / sizeof(co_watched); i-- > 0;)
        if (at(c, i)->id == id)
            return at(c, i);
    return NULL;
}

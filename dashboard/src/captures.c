// SPDX-License-Identifier: MIT
// Which captures there are. Numbers are never given twice; who looks at a capture holds it, so that
// it can be taken away only when nobody does.
#include "handle.h"

static da_shown *find(da_core *core, uint32_t number)
{
    for (size_t i = 0; number && i < DA_CAPTURES; i++)
        if (core->captures[i].number == number)
            return &core->captures[i];
    return NULL;
}

// The one with the least number above `number`.
static da_shown *find_next(da_core *core, uint32_t number)
{
    da_shown *next = NULL;
    for (size_t i = 0; i < DA_CAPTURES; i++) {
        da_shown *s = &core->captures[i];
        if (s->number > number && (!next || s->number < next->number))
            next = s;
    }
    return next;
}

static uint32_t find_newest(const da_core *core)
{
    uint32_t newest = 0;
    for (size_t i = 0; i < DA_CAPTURES; i++)
        if (core->captures[i].number > newest)
            newest = core->captures[i].number;
    return newest;
}

static da_capture hold(da_shown *s)
{
    if (!s)
        return (da_capture){0};
    s->users++;
    return s->capture;
}

static void let_go(da_shown *s)
{
    if (s)
        s->users--;
}

uint32_t da_core_add(da_core *core, const da_capture *capture)
{
    uint32_t number = 0;
    pthread_mutex_lock(&core->lock);
    for (size_t i = 0; i < DA_CAPTURES && !number; i++) {
        if (core->captures[i].number)
            continue;
        number = ++core->last_number;
        core->captures[i] = (da_shown){.capture = *capture, .number = number};
    }
    pthread_mutex_unlock(&core->lock);
    return number;
}

bool da_core_remove(da_core *core, uint32_t number)
{
    pthread_mutex_lock(&core->lock);
    da_shown *s = find(core, number);
    bool gone = !s || !s->users;
    if (s && gone)
        *s = (da_shown){0};
    pthread_mutex_unlock(&core->lock);
    return gone;
}

da_capture da_core_capture(da_core *core, uint32_t number, uint32_t *out_number)
{
    pthread_mutex_lock(&core->lock);
    number = number ? number : find_newest(core);
    da_capture found = hold(find(core, number));
    pthread_mutex_unlock(&core->lock);
    *out_number = number;
    return found;
}

void da_core_release(da_core *core, uint32_t number)
{
    pthread_mutex_lock(&core->lock);
    let_go(find(core, number));
    pthread_mutex_unlock(&core->lock);
}

da_capture da_core_next(da_core *core, uint32_t *number)
{
    pthread_mutex_lock(&core->lock);
    let_go(find(core, *number));
    da_shown *s = find_next(core, *number);
    da_capture found = hold(s);
    *number = s ? s->number : 0;
    pthread_mutex_unlock(&core->lock);
    return found;
}

uint64_t da_core_version(da_core *core)
{
    uint64_t version = 0;
    uint32_t number = 0;
    for (da_capture c; (c = da_core_next(core, &number)).live;)
        version += da_live_version(c.live) + ((uint64_t)number << 40);
    return version;
}

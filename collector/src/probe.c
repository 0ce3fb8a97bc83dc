// SPDX-License-Identifier: MIT
// See probe.h: what a source's readings say about which counters there are.
#include "probe.h"

#include "common/map.h"

#include <stdio.h>
#include <string.h>

const co_probe_source *co_probe_find_source(const co_probe *p, const char *source)
{
    for (size_t i = 0; i < p->source_count; i++)
        if (strcmp(p->sources[i].name, source) == 0)
            return &p->sources[i];
    return NULL;
}

const co_probe_item *co_probe_find(const co_probe *p, const char *source, const char *name,
                                   int about)
{
    for (size_t i = 0; i < p->item_count; i++) {
        const co_probe_item *item = &p->items[i];
        if (item->about == about && strcmp(item->source, source) == 0 &&
            strcmp(item->name, name) == 0)
            return item;
    }
    return NULL;
}

typedef struct walk {
    co_probe *out;
    co_probe_source *source;
    cm_map known; // ids that had a value once
} walk;

static void note_sample(void *context, uint32_t id, bool known)
{
    walk *w = context;
    if (known)
        cm_map_put(&w->known, id, 1); // without memory it counts as not known
}

static co_probe_item *item_of(co_probe *p, const co_counter *what)
{
    const co_probe_item *found = co_probe_find(p, what->source, what->name, (int)what->about);
    if (found)
        return &p->items[found - p->items];
    if (p->item_count == CO_PROBE_ITEMS)
        return NULL;
    co_probe_item *item = &p->items[p->item_count++];
    *item = (co_probe_item){.source = what->source, .name = what->name, .about = (int)what->about};
    return item;
}

// Other processes' counters say nothing about what is possible.
static void note_counter(void *context, uint32_t id, const co_counter *what)
{
    walk *w = context;
    size_t unused;
    bool of_others = what->about == CO_ABOUT_PROCESS && what->process == 0;
    co_probe_item *item = of_others ? NULL : item_of(w->out, what);
    if (!item)
        return;
    item->instances++;
    if (!cm_map_find(&w->known, id, &unused))
        return;
    item->known++;
    if (what->subject[0] && item->subject_count < CO_PROBE_SUBJECTS)
        snprintf(item->subjects[item->subject_count++], sizeof item->subjects[0], "%s",
                 what->subject);
}

// Level 5 is about how often it was asked.
static void note_remark(void *context, int level, const char *text)
{
    walk *w = context;
    co_probe_source *s = w->source;
    if (level > 4 || (s->remark[0] && level >= s->remark_level))
        return;
    s->remark_level = level;
    snprintf(s->remark, sizeof s->remark, "%s", text);
}

void co_probe_read(co_probe *out, co_probe_source *source, const co_readings *readings)
{
    walk w = {.out = out, .source = source};
    cm_map_init(&w.known);
    const co_readings_visitor samples = {&w, NULL, note_sample, note_remark};
    const co_readings_visitor counters = {&w, note_counter, NULL, NULL};
    co_readings_visit(readings, &samples);
    co_readings_visit(readings, &counters);
    cm_map_deinit(&w.known);
}

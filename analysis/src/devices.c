// SPDX-License-Identifier: MIT
#include "analysis/devices.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

// Counters that tell of the same thing are gathered in one item, each in its role.
typedef struct role {
    const char *name; // the counter's
    size_t offset;    // of its pointer in the item
} role;

typedef struct gathering {
    const role *roles;
    size_t role_count, item_size;
    bool (*is_about)(const an_counter *n, const void *item); // NULL: of any item
    void (*begin)(void *item, const an_counter *n);
} gathering;

#define ROLES(array) .roles = (array), .role_count = sizeof(array) / sizeof *(array)

static const role *role_of(const gathering *g, const an_counter *n)
{
    for (size_t i = 0; n->seen && i < g->role_count; i++)
        if (strcmp(g->roles[i].name, n->name) == 0)
            return &g->roles[i];
    return NULL;
}

// The items that have any counter, in the order of their first ones; where several sources name the
// same thing differently, the first one counts.
static size_t gather(const gathering *g, const an_counters *c, void *out, size_t capacity)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++) {
        const an_counter *n = &c->items[i];
        const role *r = role_of(g, n);
        char *item = out;
        if (!r || !g->is_about(n, NULL))
            continue;
        size_t at = 0;
        while (at < count && !g->is_about(n, item)) {
            at++;
            item += g->item_size;
        }
        if (at == capacity)
            continue;
        if (at == count) {
            g->begin(item, n);
            count++;
        }
        const an_counter **place = (const an_counter **)(void *)(item + r->offset);
        *place = *place ? *place : n;
    }
    return count;
}

// ---------------------------------------------------------------------------------------- devices

static bool is_about_device(const an_counter *n, const void *item)
{
    const an_accelerator *d = item;
    if (!d)
        return n->about == AN_ABOUT_DEVICE && !n->process;
    return d->number == n->number && strcmp(d->source, n->source) == 0;
}

static void begin_device(void *item, const an_counter *n)
{
    *(an_accelerator *)item =
        (an_accelerator){.source = n->source, .name = n->subject, .number = n->number};
}

size_t an_accelerators(const an_counters *c, an_accelerator *out, size_t capacity)
{
    static const role roles[] = {
        {"gpu_utilization", offsetof(an_accelerator, utilization)},
        {"npu_utilization", offsetof(an_accelerator, utilization)},
        {"memory_used", offsetof(an_accelerator, memory)},
        {"memory_dedicated", offsetof(an_accelerator, memory)},
        {"memory_total", offsetof(an_accelerator, memory_total)},
        {"power", offsetof(an_accelerator, power)},
        {"energy", offsetof(an_accelerator, energy)},
        {"temperature", offsetof(an_accelerator, temperature)},
        {"throttle_reasons", offsetof(an_accelerator, throttle)},
    };
    static const gathering devices = {ROLES(roles), sizeof *out, is_about_device, begin_device};
    size_t count = gather(&devices, c, out, capacity);
    for (size_t i = 0; i < count; i++)
        out[i].is_npu =
            out[i].utilization && strcmp(out[i].utilization->name, "npu_utilization") == 0;
    return count;
}

double an_counter_max(const an_counter *c)
{
    return c ? an_counter_value(c, c->max) : (double)NAN;
}

double an_counter_min(const an_counter *c)
{
    return c ? an_counter_value(c, c->min) : (double)NAN;
}

double an_counter_mean_or_nan(const an_counter *c)
{
    return c ? an_counter_mean(c) : (double)NAN;
}

// -------------------------------------------------------------------------------------------- heat

// nvml.h: nvmlClocksThrottleReasons. Idle and clocks that somebody asked for are no limits.
const char *an_throttle_name(unsigned bit)
{
    static const char *const names[AN_THROTTLE_BITS] = {NULL,
                                                        NULL,
                                                        "power cap",
                                                        "hardware slowdown",
                                                        "sync boost",
                                                        "heat (software)",
                                                        "heat (hardware)",
                                                        "power brake",
                                                        "display clocks"};
    return bit < AN_THROTTLE_BITS ? names[bit] : NULL;
}

static bool is_about_zone(const an_counter *n, const void *item)
{
    const an_zone *z = item;
    if (!z)
        return n->about == AN_ABOUT_MACHINE && n->subject[0];
    return strcmp(z->name, n->subject) == 0 && strcmp(z->source, n->source) == 0;
}

static void begin_zone(void *item, const an_counter *n)
{
    *(an_zone *)item = (an_zone){.source = n->source, .name = n->subject};
}

size_t an_zones(const an_counters *c, an_zone *out, size_t capacity)
{
    static const role roles[] = {
        {"temperature", offsetof(an_zone, temperature)},
        {"passive_limit", offsetof(an_zone, limit)},
        {"throttle_reasons", offsetof(an_zone, throttle)},
    };
    static const gathering zones = {ROLES(roles), sizeof *out, is_about_zone, begin_zone};
    return gather(&zones, c, out, capacity);
}

// ------------------------------------------------------------------------------ events of devices

static bool is_about_use(const an_counter *n, const void *item)
{
    const an_gpu_use *u = item;
    return u ? u->process == n->process : n->about == AN_ABOUT_PROCESS;
}

static void begin_use(void *item, const an_counter *n)
{
    *(an_gpu_use *)item = (an_gpu_use){.process = n->process};
}

size_t an_gpu_uses(const an_counters *c, an_gpu_use *out, size_t capacity)
{
    static const role roles[] = {
        {"gpu_packets", offsetof(an_gpu_use, packets)},
        {"gpu_packet_time", offsetof(an_gpu_use, queued)},
        {"gpu_engine_time", offsetof(an_gpu_use, engine)},
    };
    static const gathering uses = {ROLES(roles), sizeof *out, is_about_use, begin_use};
    return gather(&uses, c, out, capacity);
}

bool an_is_measurement(const an_counter *c)
{
    return c->seen && !c->total && c->about == AN_ABOUT_DEVICE && strcmp(c->source, "qnn") == 0;
}

// ------------------------------------------------------------------------------------------ energy

static bool is_same_meter(const an_counter *a, const an_counter *b)
{
    return a->about == b->about && a->number == b->number && strcmp(a->source, b->source) == 0 &&
           strcmp(a->subject, b->subject) == 0;
}

static bool has_total(const an_counters *c, const an_counter *power)
{
    for (size_t i = 0; i < c->count; i++) {
        const an_counter *n = &c->items[i];
        if (n->seen && n->total && strcmp(n->name, "energy") == 0 && is_same_meter(n, power))
            return true;
    }
    return false;
}

size_t an_meters(const an_counters *c, an_meter *out, size_t capacity)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count && count < capacity; i++) {
        const an_counter *n = &c->items[i];
        an_meter m = {.source = n->source, .name = n->subject};
        if (!n->seen || n->process)
            continue;
        if (n->total && strcmp(n->name, "energy") == 0 && strcmp(n->unit, "J") == 0) {
            m.joules = an_counter_value(n, n->last) - an_counter_value(n, n->first);
            m.seconds = ((double)n->last_ns - (double)n->first_ns) / 1e9;
        } else if (strcmp(n->name, "power") == 0 && strcmp(n->unit, "W") == 0 && !has_total(c, n)) {
            m.seconds = n->known_ns / 1e9;
            m.joules = an_counter_mean(n) * m.seconds;
            m.integrated = true;
        } else {
            continue;
        }
        if (m.joules > 0 && m.seconds > 0) // also keeps out what is not a number
            out[count++] = m;
    }
    return count;
}

// SPDX-License-Identifier: MIT
#include "analysis/devices.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

// Which counters tell what of a device, by name; several sources name the same thing differently.
static const struct {
    const char *name;
    size_t offset;
} roles[] = {
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

static const an_counter **role_of(an_accelerator *d, const char *name)
{
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i].name, name) == 0)
            return (const an_counter **)(void *)((char *)d + roles[i].offset);
    return NULL;
}

static an_accelerator *find_device(an_accelerator *devices, size_t *count, size_t capacity,
                                   const an_counter *n)
{
    for (size_t i = 0; i < *count; i++)
        if (devices[i].number == n->number && strcmp(devices[i].source, n->source) == 0)
            return &devices[i];
    if (*count == capacity)
        return NULL;
    devices[*count] =
        (an_accelerator){.source = n->source, .name = n->subject, .number = n->number};
    return &devices[(*count)++];
}

size_t an_accelerators(const an_counters *c, an_accelerator *out, size_t capacity)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++) {
        const an_counter *n = &c->items[i];
        an_accelerator probe;
        if (n->about != AN_ABOUT_DEVICE || n->process || !n->seen || !role_of(&probe, n->name))
            continue;
        an_accelerator *d = find_device(out, &count, capacity, n);
        if (!d)
            continue;
        const an_counter **role = role_of(d, n->name);
        *role = *role ? *role : n;
        d->is_npu = d->is_npu || strcmp(n->name, "npu_utilization") == 0;
    }
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

static const an_counter **zone_role(an_zone *z, const char *name)
{
    return strcmp(name, "temperature") == 0        ? &z->temperature
           : strcmp(name, "passive_limit") == 0    ? &z->limit
           : strcmp(name, "throttle_reasons") == 0 ? &z->throttle
                                                   : NULL;
}

size_t an_zones(const an_counters *c, an_zone *out, size_t capacity)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++) {
        const an_counter *n = &c->items[i];
        an_zone probe;
        if (n->about != AN_ABOUT_MACHINE || !n->seen || !n->subject[0] ||
            !zone_role(&probe, n->name))
            continue;
        size_t at = 0;
        while (at < count &&
               (strcmp(out[at].name, n->subject) != 0 || strcmp(out[at].source, n->source) != 0))
            at++;
        if (at == capacity)
            continue;
        if (at == count)
            out[count++] = (an_zone){.source = n->source, .name = n->subject};
        *zone_role(&out[at], n->name) = n;
    }
    return count;
}

// -------------------------------------------------------------------------------- events of
// devices

static const an_counter **use_role(an_gpu_use *u, const char *name)
{
    return strcmp(name, "gpu_packets") == 0       ? &u->packets
           : strcmp(name, "gpu_packet_time") == 0 ? &u->queued
           : strcmp(name, "gpu_engine_time") == 0 ? &u->engine
                                                  : NULL;
}

size_t an_gpu_uses(const an_counters *c, an_gpu_use *out, size_t capacity)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++) {
        const an_counter *n = &c->items[i];
        an_gpu_use probe;
        size_t at = 0;
        if (n->about != AN_ABOUT_PROCESS || !n->seen || !use_role(&probe, n->name))
            continue;
        while (at < count && out[at].process != n->process)
            at++;
        if (at == capacity)
            continue;
        if (at == count)
            out[count++] = (an_gpu_use){.process = n->process};
        *use_role(&out[at], n->name) = n;
    }
    return count;
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

// SPDX-License-Identifier: MIT
// What NVML is asked about each of its devices. What a device does not support is not known and not
// asked again; a device that was lost ends, with a remark, and the source with its last device.
#include "nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE          "nvml"
#define DEVICES_MAX     16u
#define PROCESSES_MAX   256u
#define SAMPLE_HOLDS_US 1000000u // NVML renews the processes' shares once or a few times a second
#define NOT_AVAILABLE   UINT64_MAX
#define SENSOR_GPU      0

typedef enum question {
    ASK_UTILIZATION,
    ASK_MEMORY,
    ASK_POWER,
    ASK_ENERGY,
    ASK_TEMPERATURE,
    ASK_CLOCK_GRAPHICS, // NVML's own clock types 0, 1, 2
    ASK_CLOCK_SM,
    ASK_CLOCK_MEMORY,
    ASK_THROTTLE,
    ASK_PROCESS_UTILIZATION,
    ASK_PROCESSES,
    QUESTION_COUNT
} question;

typedef struct device {
    void *handle;
    char name[96];
    bool ended;
    bool unsupported[QUESTION_COUNT];
    unsigned long long newest_us; // sample of a process's share
} device;

struct co_nvml_state {
    const co_nvml_api *api;
    const co_source_env *env;
    co_series series;
    device devices[DEVICES_MAX];
    unsigned count;
    uint64_t ticks;
    co_followed followed[CO_FOLLOWED_MAX];
    size_t followed_count;
    co_nvml_process_sample samples[PROCESSES_MAX];
    co_nvml_process processes[PROCESSES_MAX];
};

static void remark(const co_source_env *env, int level, const char *text)
{
    co_readings_remark(env->out, __builtin_ia32_rdtsc(), level, text);
}

static void find_devices(co_nvml_state *s)
{
    unsigned count = 0;
    if (s->api->device_count(&count) != CO_NVML_SUCCESS)
        count = 0;
    for (unsigned i = 0; i < count && s->count < DEVICES_MAX; i++) {
        device *d = &s->devices[s->count];
        if (s->api->device(i, &d->handle) != CO_NVML_SUCCESS)
            continue;
        if (!s->api->name || s->api->name(d->handle, d->name, sizeof d->name) != CO_NVML_SUCCESS)
            snprintf(d->name, sizeof d->name, "GPU %u", i);
        d->name[sizeof d->name - 1] = '\0';
        s->count++;
    }
}

co_nvml_state *co_nvml_open(const co_nvml_api *api, const co_source_env *env)
{
    char text[CO_REMARK_BYTES];
    int status = api->init();
    if (status != CO_NVML_SUCCESS) {
        snprintf(text, sizeof text,
                 "NVIDIA's management library is there but does not start (NVML error %d).",
                 status);
        remark(env, 4, text);
        return NULL;
    }
    co_nvml_state *s = calloc(1, sizeof *s);
    if (!s) {
        api->shutdown();
        return NULL;
    }
    s->api = api;
    s->env = env;
    co_series_init(&s->series, env->last_id, env->out);
    find_devices(s);
    if (s->count)
        return s;
    remark(env, 4, "NVIDIA's management library tells of no device.");
    co_nvml_close(s);
    return NULL;
}

void co_nvml_close(co_nvml_state *s)
{
    s->api->shutdown();
    co_series_deinit(&s->series);
    free(s);
}

// -------------------------------------------------------------------------------------- one device

// What an answer means for the device; true if there is a value.
static bool is_value(co_nvml_state *s, device *d, question q, int status)
{
    char text[CO_REMARK_BYTES];
    switch (status) {
    case CO_NVML_NOT_SUPPORTED:
    case CO_NVML_NO_PERMISSION:
    case CO_NVML_FUNCTION_NOT_FOUND:
        d->unsupported[q] = true;
        break;
    case CO_NVML_UNINITIALIZED:
    case CO_NVML_GPU_IS_LOST:
    case CO_NVML_RESET_REQUIRED:
        if (!d->ended) {
            snprintf(text, sizeof text, "%s was lost (NVML error %d); its counters end there.",
                     d->name, status);
            remark(s->env, 3, text);
        }
        d->ended = true;
        break;
    default: // a timeout, for example: the next round may be better
        break;
    }
    return status == CO_NVML_SUCCESS;
}

// Asks unless that makes no sense any more; `call` is evaluated only then.
#define ASK(s, d, q, function, call)                                                               \
    ((s)->api->function && !(d)->unsupported[q] && !(d)->ended &&                                  \
     is_value(s, d, q, (s)->api->function call))

static co_counter about(const co_nvml_state *s, const device *d, const char *name, const char *unit,
                        int64_t per_unit)
{
    co_counter what = {.source = SOURCE,
                       .name = name,
                       .unit = unit,
                       .per_unit = per_unit,
                       .about = CO_ABOUT_DEVICE,
                       .number = d - s->devices};
    snprintf(what.subject, sizeof what.subject, "%s", d->name);
    return what;
}

static void put(co_nvml_state *s, const device *d, const char *name, const char *unit,
                int64_t per_unit, bool known, uint64_t value)
{
    co_counter what = about(s, d, name, unit, per_unit);
    what.total = strcmp(name, "energy") == 0;
    co_series_put(&s->series, &what, s->ticks, known, (int64_t)value);
}

static void put_device(co_nvml_state *s, device *d)
{
    static const struct {
        question ask;
        const char *name;
    } clocks[] = {{ASK_CLOCK_GRAPHICS, "clock_graphics"},
                  {ASK_CLOCK_SM, "clock_sm"},
                  {ASK_CLOCK_MEMORY, "clock_memory"}};
    co_nvml_utilization use = {0};
    co_nvml_memory memory = {0};
    unsigned number = 0;
    unsigned long long large = 0;
    bool known = ASK(s, d, ASK_UTILIZATION, utilization, (d->handle, &use));
    put(s, d, "gpu_utilization", "%", 1, known, use.gpu);
    put(s, d, "memory_utilization", "%", 1, known, use.memory);
    known = ASK(s, d, ASK_MEMORY, memory, (d->handle, &memory));
    put(s, d, "memory_used", "B", 1, known, memory.used);
    put(s, d, "memory_total", "B", 1, known, memory.total);
    known = ASK(s, d, ASK_POWER, power, (d->handle, &number));
    put(s, d, "power", "W", 1000, known, number);
    known = ASK(s, d, ASK_ENERGY, energy, (d->handle, &large));
    put(s, d, "energy", "J", 1000, known, large);
    known = ASK(s, d, ASK_TEMPERATURE, temperature, (d->handle, SENSOR_GPU, &number));
    put(s, d, "temperature", "degC", 1, known, number);
    for (int i = 0; i < 3; i++) {
        known = ASK(s, d, clocks[i].ask, clock, (d->handle, i, &number));
        put(s, d, clocks[i].name, "MHz", 1, known, number);
    }
    known = ASK(s, d, ASK_THROTTLE, throttle_reasons, (d->handle, &large));
    put(s, d, "throttle_reasons", "bits", 1, known, large);
}

// The newest share of each followed process in the last second.
static void put_shares(co_nvml_state *s, device *d)
{
    unsigned count = PROCESSES_MAX;
    unsigned long long since =
        d->newest_us > SAMPLE_HOLDS_US ? d->newest_us - SAMPLE_HOLDS_US : d->newest_us;
    bool known = ASK(s, d, ASK_PROCESS_UTILIZATION, process_utilization,
                     (d->handle, s->samples, &count, since));
    for (size_t f = 0; known && f < s->followed_count; f++) {
        const co_nvml_process_sample *newest = NULL;
        for (unsigned i = 0; i < count && i < PROCESSES_MAX; i++) {
            const co_nvml_process_sample *n = &s->samples[i];
            if (n->pid == s->followed[f].pid && (!newest || n->time_us > newest->time_us))
                newest = n;
            if (n->time_us > d->newest_us)
                d->newest_us = n->time_us;
        }
        if (!newest)
            continue;
        co_counter what = about(s, d, "process_utilization", "%", 1);
        what.process = s->followed[f].id;
        co_series_put(&s->series, &what, s->ticks, true, newest->sm);
    }
}

static void put_process_memory(co_nvml_state *s, device *d)
{
    unsigned count = PROCESSES_MAX;
    if (!ASK(s, d, ASK_PROCESSES, processes, (d->handle, &count, s->processes)))
        return;
    for (unsigned i = 0; i < count && i < PROCESSES_MAX; i++) {
        for (size_t f = 0; f < s->followed_count; f++) {
            if (s->processes[i].pid != s->followed[f].pid)
                continue;
            co_counter what = about(s, d, "process_memory", "B", 1);
            what.process = s->followed[f].id;
            co_series_put(&s->series, &what, s->ticks, s->processes[i].used != NOT_AVAILABLE,
                          (int64_t)s->processes[i].used);
        }
    }
}

bool co_nvml_sample(co_nvml_state *s, uint64_t ticks)
{
    bool any = false;
    s->ticks = ticks;
    s->followed_count = s->env->followed(s->env->context, s->followed, CO_FOLLOWED_MAX);
    for (unsigned i = 0; i < s->count; i++) {
        device *d = &s->devices[i];
        if (d->ended)
            continue;
        put_device(s, d);
        put_shares(s, d);
        put_process_memory(s, d);
        any = any || !d->ended;
    }
    co_series_end_round(&s->series, ticks);
    return any;
}

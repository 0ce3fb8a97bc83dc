// SPDX-License-Identifier: MIT
// Which performance counters are asked, and what each of their instances means. Names are the
// English ones, which every Windows knows. Instances come and go between two rounds; a counter that
// this machine lacks is left out.
#include "pdh.h"

#include "common/utf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE    "pdh"
#define ITEMS_MAX (16u << 20) // bytes of one counter's instances

typedef enum instance_kind {
    OF_CORE,      // "0,3", "0,_Total", "_Total"
    OF_ENGINES,   // GPU engines: summed up
    OF_ADAPTER,   // a GPU's memory
    OF_PROCESS,   // a process's memory on a GPU
    OF_NAMED,     // a meter, a thermal zone
    OF_RAW_ENERGY // a meter's running total in picowatt hours
} instance_kind;

typedef struct wanted {
    const char *path;
    const char *name, *unit;
    double factor, offset; // the value times this, plus that
    int64_t per_unit;
    instance_kind kind;
} wanted;

#define CORE   "\\Processor Information(*)\\"
#define ZONE   "\\Thermal Zone Information(*)\\"
#define KELVIN (-273.15)
static const wanted all_wanted[] = {
    {CORE "% Processor Utility", "utility", "%", 1, 0, 100, OF_CORE},
    {CORE "% Processor Time", "busy", "%", 1, 0, 100, OF_CORE},
    {CORE "% Processor Performance", "performance", "%", 1, 0, 100, OF_CORE},
    {CORE "Processor Frequency", "frequency", "MHz", 1, 0, 1, OF_CORE},
    {CORE "% Performance Limit", "performance_limit", "%", 1, 0, 100, OF_CORE},
    {CORE "Performance Limit Flags", "performance_limit_flags", "bits", 1, 0, 1, OF_CORE},
    {"\\GPU Engine(*)\\Utilization Percentage", "utilization", "%", 1, 0, 100, OF_ENGINES},
    {"\\GPU Adapter Memory(*)\\Dedicated Usage", "memory_dedicated", "B", 1, 0, 1, OF_ADAPTER},
    {"\\GPU Adapter Memory(*)\\Shared Usage", "memory_shared", "B", 1, 0, 1, OF_ADAPTER},
    {"\\GPU Process Memory(*)\\Dedicated Usage", "process_memory_dedicated", "B", 1, 0, 1,
     OF_PROCESS},
    {"\\GPU Process Memory(*)\\Shared Usage", "process_memory_shared", "B", 1, 0, 1, OF_PROCESS},
    {"\\Energy Meter(*)\\Power", "power", "W", 0.001, 0, 1000, OF_NAMED},
    {"\\Energy Meter(*)\\Energy", "energy", "J", 1, 0, 1000000, OF_RAW_ENERGY},
    {ZONE "High Precision Temperature", "temperature", "degC", 0.1, KELVIN, 100, OF_NAMED},
    {ZONE "% Passive Limit", "passive_limit", "%", 1, 0, 100, OF_NAMED},
    {ZONE "Throttle Reasons", "throttle_reasons", "bits", 1, 0, 1, OF_NAMED},
};
#define WANTED_COUNT (sizeof all_wanted / sizeof *all_wanted)

struct co_pdh_state {
    const co_pdh_api *api;
    const co_source_env *env;
    void *query;
    void *counters[WANTED_COUNT]; // NULL: not there
    co_series series;
    co_gpu_round gpu;
    void *items;
    uint32_t items_capacity;
    bool told_failure;
    uint64_t ticks;
    co_followed followed[CO_FOLLOWED_MAX];
    size_t followed_count;
};

static void remark(const co_source_env *env, int level, const char *text)
{
    co_readings_remark(env->out, __builtin_ia32_rdtsc(), level, text);
}

// Names what is missing, object by object, in one sentence.
static void tell_missing(const co_pdh_state *s)
{
    char text[CO_REMARK_BYTES] = "", last[64] = "";
    size_t len = 0;
    for (size_t i = 0; i < WANTED_COUNT; i++) {
        char object[64];
        const char *path = all_wanted[i].path + 1;
        snprintf(object, sizeof object, "%.*s", (int)strcspn(path, "("), path);
        if (s->counters[i] || strcmp(object, last) == 0)
            continue;
        strcpy(last, object);
        int more = snprintf(text + len, sizeof text - len, "%s%s",
                            len ? ", " : "This machine lacks performance counters of: ", object);
        len += more > 0 ? (size_t)more : 0;
        if (len >= sizeof text)
            break;
    }
    if (len)
        remark(s->env, 4, text);
}

co_pdh_state *co_pdh_open(const co_pdh_api *api, const co_source_env *env)
{
    co_pdh_state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->api = api;
    s->env = env;
    co_series_init(&s->series, env->last_id, env->out);
    size_t found = 0;
    bool opened = api->open_query(NULL, 0, &s->query) == 0;
    for (size_t i = 0; opened && i < WANTED_COUNT; i++) {
        uint16_t path[128];
        cm_utf8_to_utf16(all_wanted[i].path, CM_UTF_NUL, path, sizeof path / sizeof *path);
        if (api->add_english_counter(s->query, path, 0, &s->counters[i]) == 0)
            found++;
        else
            s->counters[i] = NULL;
    }
    tell_missing(s);
    if (found)
        return s;
    co_pdh_close(s);
    return NULL;
}

void co_pdh_close(co_pdh_state *s)
{
    if (s->query)
        s->api->close_query(s->query);
    co_series_deinit(&s->series);
    free(s->items);
    free(s);
}

// ------------------------------------------------------------------------------------ one instance

static void put(co_pdh_state *s, const wanted *w, co_counter what, bool known, double value)
{
    what.source = SOURCE;
    what.name = what.name ? what.name : w->name;
    what.unit = w->unit;
    what.per_unit = w->per_unit;
    double scaled = value * (double)w->per_unit;
    known = known && scaled > -9e18 && scaled < 9e18; // also keeps out what is not a number
    co_series_put(&s->series, &what, s->ticks, known, known ? (int64_t)floor(scaled + 0.5) : 0);
}

static void put_core(co_pdh_state *s, const wanted *w, const char *instance, bool known,
                     double value)
{
    unsigned group, core;
    char end;
    co_counter what = {.about = CO_ABOUT_CORE};
    if (sscanf(instance, "%u,%u%c", &group, &core, &end) == 2)
        what.number = (int64_t)group * 64 + core;
    else if (strcmp(instance, "_Total") == 0)
        what = (co_counter){.about = CO_ABOUT_MACHINE, .number = -1};
    else
        return; // the total of a group
    put(s, w, what, known, value);
}

static void put_gpu_memory(co_pdh_state *s, const wanted *w, const char *instance, bool known,
                           double value)
{
    co_gpu_instance i;
    int number = co_gpu_parse(instance, &i) ? co_gpu_adapter_number(&s->gpu, i.adapter) : -1;
    if (number < 0 || i.has_pid != (w->kind == OF_PROCESS))
        return;
    co_counter what = {.about = CO_ABOUT_DEVICE, .number = number};
    snprintf(what.subject, sizeof what.subject, "%s", i.adapter);
    for (size_t f = 0; i.has_pid && f < s->followed_count; f++)
        if (s->followed[f].pid == i.pid)
            what.process = s->followed[f].id;
    if (!i.has_pid || what.process)
        put(s, w, what, known, value);
}

static void put_named(co_pdh_state *s, const wanted *w, const char *instance, bool known,
                      double value)
{
    co_counter what = {.about = CO_ABOUT_MACHINE, .number = -1};
    snprintf(what.subject, sizeof what.subject, "%s", instance);
    // A zone that measures nothing says 273.2 K or less.
    if (strcmp(w->unit, "degC") == 0 && value <= 273.2 + KELVIN + 1e-9)
        known = false;
    put(s, w, what, known, value);
}

static void put_instance(co_pdh_state *s, const wanted *w, const char *instance, bool known,
                         double value)
{
    co_gpu_instance i;
    value = value * w->factor + w->offset;
    switch (w->kind) {
    case OF_CORE:
        put_core(s, w, instance, known, value);
        break;
    case OF_ENGINES:
        if (co_gpu_parse(instance, &i))
            co_gpu_add(&s->gpu, &i, known ? value : -1, s->followed, s->followed_count);
        break;
    case OF_ADAPTER:
    case OF_PROCESS:
        put_gpu_memory(s, w, instance, known, value);
        break;
    case OF_NAMED:
        put_named(s, w, instance, known, value);
        break;
    case OF_RAW_ENERGY:
        break;
    }
}

// What the engines add up to.
static void put_engines(co_pdh_state *s, const wanted *w)
{
    for (uint32_t n = 0; n < s->gpu.adapter_count; n++) {
        const co_gpu_adapter *a = &s->gpu.adapters[n];
        co_counter what = {.about = CO_ABOUT_DEVICE, .number = (int64_t)n};
        if (a->engine_count == 0)
            continue;
        what.name = a->is_gpu ? "gpu_utilization" : "npu_utilization";
        snprintf(what.subject, sizeof what.subject, "%s", a->name);
        put(s, w, what, co_gpu_busiest(a) >= 0, co_gpu_busiest(a));
        for (size_t f = 0; f < s->followed_count; f++) {
            co_counter own = what;
            own.name = "process_utilization";
            own.process = s->followed[f].id;
            if (a->of_followed[f] >= 0)
                put(s, w, own, true, a->of_followed[f]);
        }
        for (uint32_t e = 0; e < a->engine_count; e++) {
            what.name = "engine_utilization";
            snprintf(what.subject, sizeof what.subject, "%s_eng_%u_%s", a->name,
                     a->engines[e].number, a->engines[e].type);
            put(s, w, what, a->engines[e].known, a->engines[e].percent);
        }
    }
}

// ------------------------------------------------------------------------------------------ rounds

// Room for `bytes` more or less; false if there is none.
static bool make_room(co_pdh_state *s, uint32_t bytes)
{
    if (bytes <= s->items_capacity)
        return true;
    if (bytes > ITEMS_MAX)
        return false;
    void *larger = realloc(s->items, bytes + 4096);
    if (!larger)
        return false;
    s->items = larger;
    s->items_capacity = bytes + 4096;
    return true;
}

static bool is_valid(uint32_t status)
{
    return status == CO_PDH_VALID_DATA || status == CO_PDH_NEW_DATA;
}

// The list may grow between two calls, but not for ever.
static uint32_t read_items(co_pdh_state *s, size_t at)
{
    bool raw = all_wanted[at].kind == OF_RAW_ENERGY;
    for (int tries = 0; tries < 4; tries++) {
        uint32_t bytes = s->items_capacity, count = 0, status;
        if (raw)
            status = s->api->raw_array(s->counters[at], &bytes, &count, s->items);
        else
            status = s->api->formatted_array(
                s->counters[at], CO_PDH_FMT_DOUBLE | CO_PDH_FMT_NOCAP100, &bytes, &count, s->items);
        if (status == 0) {
            size_t item = raw ? sizeof(co_pdh_raw_item) : sizeof(co_pdh_item);
            return count <= s->items_capacity / item ? count : 0;
        }
        if (status != CO_PDH_MORE_DATA || !make_room(s, bytes))
            return 0;
    }
    return 0;
}

static void put_counter(co_pdh_state *s, size_t at)
{
    const wanted *w = &all_wanted[at];
    uint32_t count = read_items(s, at);
    char instance[CO_SUBJECT_BYTES];
    for (uint32_t i = 0; i < count && w->kind != OF_RAW_ENERGY; i++) {
        const co_pdh_item *item = &((const co_pdh_item *)s->items)[i];
        cm_utf16_to_utf8(item->name, CM_UTF_NUL, instance, sizeof instance);
        put_instance(s, w, instance, is_valid(item->status), item->value);
    }
    for (uint32_t i = 0; i < count && w->kind == OF_RAW_ENERGY; i++) {
        const co_pdh_raw_item *item = &((const co_pdh_raw_item *)s->items)[i];
        co_counter what = {.about = CO_ABOUT_MACHINE,
                           .number = -1,
                           .source = SOURCE,
                           .name = w->name,
                           .unit = w->unit,
                           .per_unit = w->per_unit,
                           .total = true};
        cm_utf16_to_utf8(item->name, CM_UTF_NUL, what.subject, sizeof what.subject);
        // One picowatt hour is 0.0036 microjoules; in two parts, so that nothing overflows.
        int64_t microjoules = item->first / 10000 * 36 + item->first % 10000 * 36 / 10000;
        co_series_put(&s->series, &what, s->ticks, is_valid(item->status), microjoules);
    }
    if (w->kind == OF_ENGINES)
        put_engines(s, w);
}

void co_pdh_sample(co_pdh_state *s, uint64_t ticks)
{
    s->ticks = ticks;
    s->followed_count = s->env->followed(s->env->context, s->followed, CO_FOLLOWED_MAX);
    co_gpu_begin(&s->gpu);
    uint32_t status = s->api->collect(s->query);
    if (status != 0 && status != CO_PDH_NO_DATA && !s->told_failure) {
        char text[CO_REMARK_BYTES];
        snprintf(text, sizeof text,
                 "Performance counters could not be read (PDH status 0x%08X); what they tell is "
                 "missing meanwhile.",
                 status);
        remark(s->env, 3, text);
        s->told_failure = true;
    }
    for (size_t i = 0; status == 0 && i < WANTED_COUNT; i++)
        if (s->counters[i])
            put_counter(s, i);
    co_series_end_round(&s->series, ticks);
}

// SPDX-License-Identifier: MIT
#include "view_keys.h"

#include "analysis/ops.h"

#include <string.h>

#define RATE_STEPS 10 // that a rate is taken over at least: a second

void da_key_number(cm_json *j, const char *key, double value, int decimals)
{
    cm_json_key(j, key);
    cm_json_number(j, value, decimals);
}

void da_key_int(cm_json *j, const char *key, int64_t value)
{
    cm_json_key(j, key);
    cm_json_int(j, value);
}

void da_key_uint(cm_json *j, const char *key, uint64_t value)
{
    cm_json_key(j, key);
    cm_json_uint(j, value);
}

void da_key_id(cm_json *j, const char *key, int64_t id)
{
    cm_json_key(j, key);
    if (id > 0)
        cm_json_int(j, id);
    else
        cm_json_null(j);
}

void da_key_count(cm_json *j, const char *key, int64_t value)
{
    cm_json_key(j, key);
    if (value >= 0)
        cm_json_int(j, value);
    else
        cm_json_null(j);
}

void da_key_text(cm_json *j, const char *key, const char *text)
{
    cm_json_key(j, key);
    cm_json_string(j, text);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static const char *or_null(const char *text)
{
    return text[0] ? text : NULL;
}

void da_key_op_type(cm_json *j, const char *op_type, const char *class_name, const char *domain)
{
    an_op_type_text by_class;
    an_op_type t;
    an_op_type_split(an_op_type_shown(or_empty(op_type), or_empty(class_name), &by_class),
                     or_empty(domain), &t);
    da_key_text(j, "op_type", or_null(t.type));
    da_key_text(j, "op_type_source", or_null(t.source));
    da_key_text(j, "domain", or_null(t.domain));
}

void da_key_bool(cm_json *j, const char *key, bool value)
{
    cm_json_key(j, key);
    cm_json_bool(j, value);
}

void da_key_array(cm_json *j, const char *key)
{
    cm_json_key(j, key);
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
}

void da_key_object(cm_json *j, const char *key)
{
    cm_json_key(j, key);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
}

void da_begin_document(cm_json *j, uint32_t capture)
{
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_int(j, "schema_version", 1);
    if (capture)
        da_key_uint(j, "capture", capture);
}

double da_seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

double da_us(double ns)
{
    return ns / 1000.0;
}

// ------------------------------------------------------------------------------------------ words

const char *da_state_name(da_state state)
{
    static const char *const names[] = {[DA_RECORDING] = "recording",
                                        [DA_PLAYING] = "playing",
                                        [DA_PAUSED] = "paused",
                                        [DA_ENDED] = "ended"};
    return names[state];
}

const char *da_process_state(const da_process *p)
{
    return !p->ended ? "running" : p->reason == 1 ? "detached" : "exited";
}

const char *da_how_name(int64_t how)
{
    static const char *const names[] = {"launched", "attached", "child", "found", "watched"};
    return how >= 0 && how <= DA_HOW_WATCHED ? names[how] : names[3];
}

const char *da_about_name(int64_t about)
{
    static const char *const names[] = {"machine", "process", "thread", "core", "device"};
    return about >= 0 && about <= DA_DEVICE ? names[about] : names[0];
}

const char *da_file_name(const char *path)
{
    const char *name = path;
    for (const char *c = path; c && *c; c++)
        if (*c == '/' || *c == '\\')
            name = c + 1;
    return name;
}

// --------------------------------------------------------------------------------------- counters

const da_counter *da_counter_find(const da_live *l, const char *name, int64_t about,
                                  int64_t process, int64_t number)
{
    for (size_t i = 0; i < l->counter_count; i++) {
        const da_counter *c = l->counters[i];
        if (!c->seen || c->about != about || (process >= 0 && c->process != process) ||
            (number >= 0 && c->number != number))
            continue;
        const char *text = da_text(l, c->name);
        if (text && strcmp(text, name) == 0)
            return c;
    }
    return NULL;
}

static bool same_text(const da_live *l, int64_t a, int64_t b)
{
    const char *first = da_text(l, a), *second = da_text(l, b);
    return a == b || (first && second && strcmp(first, second) == 0);
}

const da_counter *da_counter_beside(const da_live *l, const da_counter *c, const char *name)
{
    for (size_t i = 0; i < l->counter_count; i++) {
        const da_counter *other = l->counters[i];
        const char *text = da_text(l, other->name);
        if (other->seen && other->about == c->about && other->number == c->number && text &&
            strcmp(text, name) == 0 && same_text(l, other->source, c->source))
            return other;
    }
    return NULL;
}

double da_counter_now(const da_counter *c)
{
    return c && c->known ? c->value : DA_NONE;
}

double da_level_at(const da_counter *c, size_t tier, int64_t index, bool total)
{
    const da_ring *steps = &c->tiers[tier].steps;
    size_t low = 0, high = steps->count; // the first one behind `index`
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (((const da_level *)da_ring_at(steps, middle))->index <= index)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return DA_NONE;
    const da_level *level = da_ring_at(steps, low - 1);
    if (!level->known)
        return DA_NONE;
    if (!total)
        return level->index == index ? level->mean : level->last;
    const da_level *next = low < steps->count ? da_ring_at(steps, low) : NULL;
    int64_t begin = next ? next->index - (int64_t)next->spread : index; // of the way to the next
    if (!next || !next->known || index <= begin)
        return level->last;
    return level->last +
           (next->last - level->last) * (double)(index - begin) / (double)next->spread;
}

// A value that has not come by then is the old one: equal ones are not told.
int64_t da_counter_until(const da_live *l, const da_counter *c, size_t tier)
{
    const da_level *newest = da_ring_newest(&c->tiers[tier].steps);
    int64_t now = l->now_ns / da_tier_ns[tier];
    int64_t due = now - da_interval_steps(l, c, tier) + 1;
    return !newest || newest->index < due ? due : newest->index < now ? newest->index : now;
}

double da_counter_rate(const da_live *l, const da_counter *c)
{
    if (!c || !c->known || !c->tiers[0].steps.count)
        return DA_NONE;
    int64_t until = da_counter_until(l, c, 0), interval = da_interval_steps(l, c, 0);
    int64_t since = until - (interval > RATE_STEPS ? interval : RATE_STEPS);
    const da_level *oldest = da_ring_at(&c->tiers[0].steps, 0);
    since = since > oldest->index ? since : oldest->index;
    double change = da_level_at(c, 0, until, true) - da_level_at(c, 0, since, true);
    return until > since ? change / ((double)(until - since) * da_seconds(da_tier_ns[0])) : DA_NONE;
}

double da_cpu_percent(const da_live *l, int64_t about, int64_t process, int64_t number)
{
    double user = da_counter_rate(l, da_counter_find(l, "cpu_user", about, process, number));
    double kernel = da_counter_rate(l, da_counter_find(l, "cpu_kernel", about, process, number));
    return !da_known(user) ? kernel * 100 : !da_known(kernel) ? user * 100 : (user + kernel) * 100;
}

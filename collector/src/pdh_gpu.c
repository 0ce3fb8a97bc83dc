// SPDX-License-Identifier: MIT
// GPU engines as the system counts them, one instance for each process and engine, to what a device
// does: summed over the processes within an engine, the greatest over the engines (as Task Manager
// does it).
//
// NPUs are adapters of the same kind whose engines are all "Neural" or "Compute"; a GPU has others.
#include "pdh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Drivers have been seen to count backwards, which PDH makes thousands of percent of.
#define PERCENT_MAX 110.0

static bool take_word(const char **at, const char *word)
{
    size_t len = strlen(word);
    if (strncmp(*at, word, len) != 0)
        return false;
    *at += len;
    return true;
}

static bool take_number(const char **at, uint32_t *out)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    *out = (uint32_t)strtoul(*at, &end, 10);
    *at = end;
    return true;
}

// luid_0x00000000_0x0000D1A2_phys_0
static bool take_adapter(const char **at, char *out, size_t capacity)
{
    const char *begin = *at;
    uint32_t physical;
    if (!take_word(at, "luid_0x"))
        return false;
    *at += strspn(*at, "0123456789abcdefABCDEF");
    if (!take_word(at, "_0x"))
        return false;
    *at += strspn(*at, "0123456789abcdefABCDEF");
    if (!take_word(at, "_phys_") || !take_number(at, &physical))
        return false;
    size_t len = (size_t)(*at - begin);
    if (len >= capacity)
        return false;
    memcpy(out, begin, len);
    out[len] = '\0';
    return true;
}

bool co_gpu_parse(const char *name, co_gpu_instance *out)
{
    co_gpu_instance i = {0};
    const char *at = name;
    if (take_word(&at, "pid_")) {
        i.has_pid = true;
        if (!take_number(&at, &i.pid) || !take_word(&at, "_"))
            return false;
    }
    if (!take_adapter(&at, i.adapter, sizeof i.adapter))
        return false;
    if (take_word(&at, "_eng_")) {
        i.has_engine = true;
        if (!take_number(&at, &i.engine) || !take_word(&at, "_engtype_"))
            return false;
        snprintf(i.type, sizeof i.type, "%s", at);
        at += strlen(at);
    }
    if (*at)
        return false;
    *out = i;
    return true;
}

static void forget_values(co_gpu_adapter *a)
{
    a->engine_count = 0;
    for (size_t f = 0; f < CO_FOLLOWED_MAX; f++)
        a->of_followed[f] = -1;
}

int co_gpu_adapter_number(co_gpu_round *r, const char *name)
{
    for (uint32_t i = 0; i < r->adapter_count; i++)
        if (strcmp(r->adapters[i].name, name) == 0)
            return (int)i;
    if (r->adapter_count == CO_GPU_ADAPTERS)
        return -1;
    co_gpu_adapter *a = &r->adapters[r->adapter_count];
    *a = (co_gpu_adapter){0};
    snprintf(a->name, sizeof a->name, "%s", name);
    forget_values(a);
    return (int)r->adapter_count++;
}

void co_gpu_begin(co_gpu_round *r)
{
    for (uint32_t i = 0; i < r->adapter_count; i++)
        forget_values(&r->adapters[i]);
}

void co_gpu_add(co_gpu_round *r, const co_gpu_instance *instance, double percent,
                const co_followed *followed, size_t followed_count)
{
    int number = co_gpu_adapter_number(r, instance->adapter);
    if (number < 0 || !instance->has_engine)
        return;
    co_gpu_adapter *a = &r->adapters[number];
    if (strcmp(instance->type, "Neural") != 0 && strcmp(instance->type, "Compute") != 0)
        a->is_gpu = true;
    uint32_t e = 0;
    while (e < a->engine_count && a->engines[e].number != instance->engine)
        e++;
    if (e == CO_GPU_ENGINES)
        return;
    if (e == a->engine_count) {
        a->engine_count++;
        a->engines[e].number = instance->engine;
        a->engines[e].known = false;
        a->engines[e].percent = 0;
        snprintf(a->engines[e].type, sizeof a->engines[e].type, "%s", instance->type);
    }
    if (!(percent >= 0 && percent <= PERCENT_MAX))
        return;
    a->engines[e].known = true;
    a->engines[e].percent += percent;
    for (size_t f = 0; f < followed_count && instance->has_pid; f++)
        if (followed[f].pid == instance->pid && percent > a->of_followed[f])
            a->of_followed[f] = percent;
}

double co_gpu_busiest(const co_gpu_adapter *a)
{
    double busiest = -1;
    for (uint32_t e = 0; e < a->engine_count; e++)
        if (a->engines[e].known && a->engines[e].percent > busiest)
            busiest = a->engines[e].percent;
    return busiest;
}

// SPDX-License-Identifier: MIT
// pdh.dll, loaded only when its counters are wanted.
#include "libraries.h"
#include "pdh.h"

#include <stdlib.h>

typedef struct pdh_source {
    co_pdh_api api;
    co_pdh_state *state;
    void *library;
} pdh_source;

static const co_function functions[] = {
    {"PdhOpenQueryW", offsetof(co_pdh_api, open_query), true},
    {"PdhAddEnglishCounterW", offsetof(co_pdh_api, add_english_counter), true},
    {"PdhCollectQueryData", offsetof(co_pdh_api, collect), true},
    {"PdhGetFormattedCounterArrayW", offsetof(co_pdh_api, formatted_array), true},
    {"PdhGetRawCounterArrayW", offsetof(co_pdh_api, raw_array), true},
    {"PdhCloseQuery", offsetof(co_pdh_api, close_query), true},
};

static void close_source(void *source)
{
    pdh_source *s = source;
    if (s->state)
        co_pdh_close(s->state);
    co_library_close(s->library);
    free(s);
}

static void *open_source(const co_source_env *env)
{
    pdh_source *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->library = co_library_open(L"pdh.dll", NULL);
    if (s->library &&
        co_library_functions(s->library, functions, sizeof functions / sizeof *functions, &s->api))
        s->state = co_pdh_open(&s->api, env);
    if (s->state)
        return s;
    close_source(s);
    return NULL;
}

static bool sample(void *source, uint64_t ticks)
{
    pdh_source *s = source;
    co_pdh_sample(s->state, ticks);
    return true;
}

// Most of these counters are renewed once a second or so, and asking for all GPU engines is slow.
const co_source co_pdh_source = {
    .name = "pdh", .max_hz = 10, .open = open_source, .sample = sample, .close = close_source};

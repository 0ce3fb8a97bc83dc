// SPDX-License-Identifier: MIT
#include "etw_recorder.h"

#include <string.h>
#include <unity.h>

etw_recorder g_etw;

static uint32_t TL_ETW_CALL record_register(const void *guid, tl_etw_callback *callback,
                                            void *context, uint64_t *handle)
{
    memcpy(g_etw.guid, guid, 16);
    g_etw.callback = callback;
    g_etw.context = context;
    g_etw.registered++;
    *handle = 7;
    return 0;
}

static uint32_t TL_ETW_CALL record_unregister(uint64_t handle)
{
    TEST_ASSERT_EQUAL_UINT64(7, handle);
    g_etw.unregistered++;
    g_etw.callback = NULL;
    return 0;
}

static uint32_t TL_ETW_CALL record_set(uint64_t handle, uint32_t what, void *bytes, uint32_t len)
{
    TEST_ASSERT_EQUAL_UINT64(7, handle);
    TEST_ASSERT_EQUAL_UINT32(TL_ETW_SET_TRAITS, what);
    TEST_ASSERT_LESS_OR_EQUAL(sizeof g_etw.traits_set, len);
    memcpy(g_etw.traits_set, bytes, len);
    return 0;
}

static void append(uint8_t *to, size_t capacity, uint32_t *len, const tl_etw_data *from)
{
    TEST_ASSERT_LESS_OR_EQUAL(capacity, *len + from->bytes);
    memcpy(to + *len, (const void *)(uintptr_t)from->address, from->bytes);
    *len += from->bytes;
}

static uint32_t TL_ETW_CALL record_write(uint64_t handle, const tl_etw_descriptor *event,
                                         const void *activity, const void *related, uint32_t count,
                                         tl_etw_data *data)
{
    TEST_ASSERT_EQUAL_UINT64(7, handle);
    TEST_ASSERT_NULL(activity);
    TEST_ASSERT_NULL(related);
    TEST_ASSERT_EQUAL(TL_ETW_CHANNEL, event->channel);
    if (g_etw.answer)
        return g_etw.answer;
    TEST_ASSERT_LESS_THAN(RECORDED_MAX, g_etw.count);
    etw_recorded *e = &g_etw.events[g_etw.count++];
    *e = (etw_recorded){
        .level = event->level, .keyword = event->keyword, .time = g_etw.time, .tid = g_etw.tid};
    for (uint32_t i = 0; i < count; i++) {
        if (data[i].type == 2)
            append(e->traits, sizeof e->traits, &e->traits_len, &data[i]);
        else if (data[i].type == 1)
            append(e->metadata, sizeof e->metadata, &e->metadata_len, &data[i]);
        else
            append(e->data, sizeof e->data, &e->data_len, &data[i]);
    }
    return 0;
}

const tl_etw_api etw_recorder_api = {record_register, record_unregister, record_set, record_write};

void etw_recorder_reset(void)
{
    memset(&g_etw, 0, sizeof g_etw);
}

void etw_enable(uint32_t action, uint8_t level, uint64_t keywords)
{
    TEST_ASSERT_NOT_NULL(g_etw.callback);
    g_etw.callback(NULL, action, level, keywords, 0, NULL, g_etw.context);
}

const etw_recorded *etw_find(const char *name, unsigned n)
{
    for (unsigned i = 0; i < g_etw.count; i++) // behind size and tags
        if (strcmp((const char *)g_etw.events[i].metadata + 3, name) == 0 && n-- == 0)
            return &g_etw.events[i];
    return NULL;
}

unsigned etw_count(const char *name)
{
    unsigned n = 0;
    while (etw_find(name, n))
        n++;
    return n;
}

tl_etw_prefix etw_prefix(const etw_recorded *e)
{
    tl_etw_prefix prefix;
    TEST_ASSERT_NOT_NULL(e);
    memcpy(&prefix, e->data, sizeof prefix);
    return prefix;
}

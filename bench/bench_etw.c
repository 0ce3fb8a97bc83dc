// SPDX-License-Identifier: MIT
#include "bench_etw.h"

#include "hookdll/detour.h"
#include "tracelogging/etw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <windows.h>

#define EVENT_HEADER_BYTES 80u // of a record, and 8 of each item beside its data

static tl_etw_callback *g_callback;
static void *g_context;
static _Atomic uint64_t g_events, g_bytes;

static uint32_t TL_ETW_CALL on_register(const void *guid, tl_etw_callback *callback, void *context,
                                        uint64_t *handle)
{
    if (memcmp(guid, tl_provider_guid, sizeof tl_provider_guid) == 0) {
        g_callback = callback;
        g_context = context;
    }
    *handle = 1;
    return 0;
}

static uint32_t TL_ETW_CALL on_write(uint64_t handle, const tl_etw_descriptor *event,
                                     const void *activity, const void *related, uint32_t count,
                                     tl_etw_data *data)
{
    uint64_t bytes = EVENT_HEADER_BYTES;
    (void)handle;
    (void)event;
    (void)activity;
    (void)related;
    for (uint32_t i = 0; i < count; i++)
        bytes += data[i].type ? 8 + ((data[i].bytes + 7u) & ~7u) : data[i].bytes;
    atomic_fetch_add_explicit(&g_events, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&g_bytes, (bytes + 7) & ~(uint64_t)7, memory_order_relaxed);
    return 0;
}

static void replace(const char *name, void *function)
{
    static void *originals[2];
    static int used;
    void **original = &originals[used++];
    *original = (void *)(uintptr_t)GetProcAddress(GetModuleHandleW(L"ntdll.dll"), name);
    hk_detour_attach(original, function);
}

void bench_etw_install(void)
{
    hk_detour_begin();
    replace("EtwEventRegister", HK_CODE(on_register));
    replace("EtwEventWriteTransfer", HK_CODE(on_write));
    hk_detour_reason reason = hk_detour_commit(NULL);
    if (reason != HK_DETOUR_OK) {
        fprintf(stderr, "bench: %s\n", hk_detour_reason_text(reason));
        exit(1);
    }
}

void bench_etw_listen(void)
{
    static const uint8_t nobody[16];
    if (!g_callback) {
        fprintf(stderr, "bench: the hook has not registered its provider\n");
        exit(1);
    }
    g_callback(nobody, TL_ETW_ENABLE, 5, UINT64_MAX, 0, NULL, g_context);
}

bench_etw_written bench_etw_count(void)
{
    return (bench_etw_written){atomic_load(&g_events), atomic_load(&g_bytes)};
}

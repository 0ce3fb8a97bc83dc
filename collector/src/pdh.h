// SPDX-License-Identifier: MIT
// Windows' performance counters (pdh.dll) as a table of functions, so that the code that asks them
// is the same with the real library, with a pretended one in a test, and on any system.
#pragma once

#include "source.h"

#include <stddef.h>
#include <stdint.h>

// Documented values of pdhmsg.h.
#define CO_PDH_MORE_DATA    0x800007D2u
#define CO_PDH_NO_DATA      0x800007D5u
#define CO_PDH_VALID_DATA   0u
#define CO_PDH_NEW_DATA     1u
#define CO_PDH_FMT_DOUBLE   0x00000200u
#define CO_PDH_FMT_NOCAP100 0x00008000u

// PDH_FMT_COUNTERVALUE_ITEM_W and PDH_RAW_COUNTER_ITEM_W, 64 bits.
typedef struct co_pdh_item {
    uint16_t *name;
    uint32_t status, pad;
    double value;
} co_pdh_item;
_Static_assert(sizeof(co_pdh_item) == 24 && offsetof(co_pdh_item, value) == 16, "PDH's layout");

typedef struct co_pdh_raw_item {
    uint16_t *name;
    uint32_t status;
    uint32_t time[2];
    uint32_t pad;
    int64_t first, second;
    uint32_t multi_count, pad2;
} co_pdh_raw_item;
_Static_assert(sizeof(co_pdh_raw_item) == 48 && offsetof(co_pdh_raw_item, first) == 24,
               "PDH's layout");

typedef struct co_pdh_api {
    uint32_t (*open_query)(const uint16_t *data_source, uintptr_t user, void **query);
    uint32_t (*add_english_counter)(void *query, const uint16_t *path, uintptr_t user,
                                    void **counter);
    uint32_t (*collect)(void *query);
    uint32_t (*formatted_array)(void *counter, uint32_t format, uint32_t *bytes, uint32_t *count,
                                co_pdh_item *items);
    uint32_t (*raw_array)(void *counter, uint32_t *bytes, uint32_t *count, co_pdh_raw_item *items);
    uint32_t (*close_query)(void *query);
} co_pdh_api;

// ------------------------------------------------------------------------ engines of GPUs and NPUs

// An instance of "GPU Engine", "GPU Adapter Memory" or "GPU Process Memory": pid_1234_luid_0x...
// _0x..._phys_0_eng_3_engtype_3D, of which some parts may be missing.
typedef struct co_gpu_instance {
    bool has_pid, has_engine;
    uint32_t pid, engine;
    char adapter[64]; // "luid_0x00000000_0x0000D1A2_phys_0"
    char type[32];    // "3D", "Copy", "Neural"
} co_gpu_instance;

// False for what does not look like one.
bool co_gpu_parse(const char *name, co_gpu_instance *out);

#define CO_GPU_ADAPTERS 16u
#define CO_GPU_ENGINES  64u // of one adapter

typedef struct co_gpu_adapter {
    char name[64];
    bool is_gpu; // has an engine that no NPU has; once told, told for good
    uint32_t engine_count;
    struct {
        uint32_t number;
        bool known;
        double percent; // of all processes
        char type[32];
    } engines[CO_GPU_ENGINES];
    double of_followed[CO_FOLLOWED_MAX]; // the busiest engine of each followed process, < 0: none
} co_gpu_adapter;

typedef struct co_gpu_round {
    co_gpu_adapter adapters[CO_GPU_ADAPTERS];
    uint32_t adapter_count;
} co_gpu_round;

// The number of an adapter, given on first sight; -1 if there are too many.
int co_gpu_adapter_number(co_gpu_round *r, const char *name);

// Sums over the processes within an engine. begin forgets the values, not the adapters.
void co_gpu_begin(co_gpu_round *r);
void co_gpu_add(co_gpu_round *r, const co_gpu_instance *instance, double percent,
                const co_followed *followed, size_t followed_count);
// The greatest over the engines; negative if none is known.
double co_gpu_busiest(const co_gpu_adapter *a);

// -------------------------------------------------------------------------------------- the source

typedef struct co_pdh_state co_pdh_state;

// NULL (with a remark) if the library has none of our counters.
co_pdh_state *co_pdh_open(const co_pdh_api *api, const co_source_env *env);
void co_pdh_sample(co_pdh_state *s, uint64_t ticks);
void co_pdh_close(co_pdh_state *s);

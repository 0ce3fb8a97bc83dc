// SPDX-License-Identifier: MIT
// Stands in for ETW's functions: what a provider writes is kept, with the time that ETW would have
// given it, and can be put into an .etl file.
#pragma once

#include "tracelogging/etw.h"

#define RECORDED_MAX 512u

typedef struct etw_recorded {
    uint8_t level;
    uint64_t keyword;
    int64_t time;
    uint32_t tid; // the thread that wrote it
    uint8_t traits[64], metadata[1024], data[20000];
    uint32_t traits_len, metadata_len, data_len;
} etw_recorded;

typedef struct etw_recorder {
    etw_recorded events[RECORDED_MAX];
    unsigned count;
    unsigned registered, unregistered;
    uint32_t answer; // what writing returns
    int64_t time;    // of the next event
    uint32_t tid;
    uint8_t guid[16];
    char traits_set[64];
    tl_etw_callback *callback;
    void *context;
} etw_recorder;

extern etw_recorder g_etw;
extern const tl_etw_api etw_recorder_api;

void etw_recorder_reset(void);
// As a session does.
void etw_enable(uint32_t action, uint8_t level, uint64_t keywords);
// The n-th event of this name, NULL: there are fewer.
const etw_recorded *etw_find(const char *name, unsigned n);
unsigned etw_count(const char *name);
tl_etw_prefix etw_prefix(const etw_recorded *e);

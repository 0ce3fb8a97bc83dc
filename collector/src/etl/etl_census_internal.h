// SPDX-License-Identifier: MIT
// The counters of a census; etl_census.c fills them, etl_census_json.c prints them.
#pragma once

#include "collector/etl_census.h"
#include "collector/etl_tracelogging.h"

#include "common/buf.h"
#include "common/map.h"

#define ETL_PROVIDERS_MAX    4096u
#define ETL_KEYS_MAX         65536u // distinct numbers in one tally
#define ETL_IDS_MAX          (1u << 20)
#define ETL_SCHEMA_BYTES_MAX ((size_t)16 << 20)
#define ETL_DAMAGE_TEXTS     20u
#define ETL_CPUS             2048u

typedef struct etl_provider {
    uint8_t guid[16];
    bool has_guid; // false: a group of the kernel that has none
    uint8_t group;
    uint64_t count;   // of all its events
    uint64_t by_guid; // of those whose record carries the GUID
    char name[128];   // as the provider itself tells it, "" if it does not
} etl_provider;

typedef struct etl_schema {
    uint32_t provider;
    uint32_t bytes_at, len; // in schema_bytes
    uint64_t count;
} etl_schema;

struct co_etl_census {
    const co_etl_header *header; // borrowed
    uint64_t buffer_count, event_count, damage_count;
    cm_map buffer_types, buffer_flags, buffer_cpus; // number -> how many
    int64_t sequence_min, sequence_max, sequence_before;
    bool sequence_ordered;
    uint64_t by_header[256], channels[256], items[32];
    cm_map event_flags, keys;
    cm_map pids, tids; // sets
    uint64_t user_bytes, with_activity;
    int64_t time_min, time_max;
    bool timed;
    int64_t buffer_time, cpu_time[ETL_CPUS]; // of the record before
    bool buffer_timed, cpu_timed[ETL_CPUS];
    uint64_t unordered_in_buffer, unordered_in_cpu;
    cm_map provider_of; // hash of the GUID -> place
    etl_provider *providers;
    uint32_t provider_count, provider_capacity;
    cm_map schema_of;
    cm_buf schemas, schema_bytes; // etl_schema
    uint64_t decoded, undecoded, residual_bytes;
    char damage[ETL_DAMAGE_TEXTS][160];
};

// What the provider calls itself, or we call it; NULL: nobody knows.
const char *co_etl_census_name(const etl_provider *p);

// A key: which events are counted together.
#define ETL_KEY(provider, family, id, opcode, version)                                             \
    ((int64_t)((uint64_t)(provider) << 43 | (uint64_t)(family) << 40 | (uint64_t)(id) << 24 |      \
               (uint64_t)(opcode) << 16 | (uint64_t)(version)))

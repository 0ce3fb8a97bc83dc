// SPDX-License-Identifier: MIT
// What is in a recording, counted: for `ortscope import --json`. Memory is bounded: what is beyond
// the limits is counted in the totals only.
#pragma once

#include "collector/etl.h"
#include "common/json.h"

typedef struct co_etl_census co_etl_census;

cm_status co_etl_census_create(const co_etl_header *header, co_etl_census **out);
void co_etl_census_destroy(co_etl_census *c);

// Feed it with what a co_etl_visitor gets, in the order of the file.
void co_etl_census_buffer(co_etl_census *c, const co_etl_buffer *buffer);
void co_etl_census_event(co_etl_census *c, const co_etl_event *event);
void co_etl_census_damage(co_etl_census *c, const char *sentence);

uint64_t co_etl_census_events(const co_etl_census *c);
uint64_t co_etl_census_buffers(const co_etl_census *c);
uint64_t co_etl_census_damages(const co_etl_census *c);

typedef struct co_etl_provider_count {
    char name[128]; // its GUID where nobody tells one
    uint64_t count;
} co_etl_provider_count;

// The providers with the most events; returns how many `out` got.
size_t co_etl_census_top(const co_etl_census *c, co_etl_provider_count *out, size_t max);

// The keys of the recording's document, into an object that is open.
void co_etl_census_json(const co_etl_census *c, cm_json *j);

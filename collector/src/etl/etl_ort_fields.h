// SPDX-License-Identifier: MIT
// The fields of an event of ONNX Runtime's, by name.
#pragma once

#include "collector/etl_tracelogging.h"
#include "common/out.h"
#include "etl_facts.h"
#include "etl_people.h"

#define ORT_FIELDS_MAX 64u

typedef struct ort_event {
    const co_etl_event *event;
    const etl_life *process;
    int64_t ns;
    bool hooked; // our hook was there and has told of sessions and runs
    co_tlg_schema schema;
    co_tlg_token fields[ORT_FIELDS_MAX];
    unsigned field_count, depth;
} ort_event;

// Its name and fields, from `event`; false if they can't be read.
bool co_ort_read(ort_event *o);

bool co_ort_is(const ort_event *o, const char *name);
const co_tlg_token *co_ort_field(const ort_event *o, const char *name); // NULL: it has none
bool co_ort_number(const ort_event *o, const char *name, int64_t *out);
etl_text co_ort_text(const co_tlg_token *t); // of length 0 if it is none

// All of them as name=value, one a line; without what says nothing, secrets hidden.
void co_ort_put_fields(const ort_event *o, cm_out *out);

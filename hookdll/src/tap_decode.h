// SPDX-License-Identifier: MIT
// An event of TraceLogging as a program hands it to EventWriteTransfer: the first two parts are the
// provider's and the event's description, the rest are the values of the fields. Portable, no
// memory of its own; neither description nor values are trusted.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// As an EVENT_DATA_DESCRIPTOR.
typedef struct hk_tap_part {
    uint64_t address;
    uint32_t bytes, kind;
} hk_tap_part;

// UTF-8, not terminated; points into what was handed over.
typedef struct hk_tap_text {
    const char *bytes;
    size_t len;
} hk_tap_text;

#define HK_TAP_FIELDS_MAX 6144u

typedef struct hk_tap_event {
    hk_tap_text name;
    uint32_t session; // ORT's own number, 0: none
    uint32_t code;    // of an error
    bool success;     // false: an end that says so
    hk_tap_text model, graph, producer, providers, version, message;
    size_t fields_len;
    char fields[HK_TAP_FIELDS_MAX]; // key=value, one a line; what does not fit is left out
} hk_tap_event;

// The event's name; empty if `parts` are no such event.
hk_tap_text hk_tap_event_name(const hk_tap_part *parts, size_t count);

// False if `parts` are no such event. A field of a kind that we do not know ends the list.
bool hk_tap_decode(const hk_tap_part *parts, size_t count, hk_tap_event *out);

bool hk_tap_is(hk_tap_text text, const char *literal);

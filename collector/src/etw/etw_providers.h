// SPDX-License-Identifier: MIT
// Which providers a session listens to, and to what of them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ETW_PROVIDER_EVENTS_MAX 16
#define ETW_JOIN_COMMAND        "net localgroup \"Performance Log Users\" \"%USERNAME%\" /add"

typedef struct etw_provider {
    unsigned part;       // CO_ETW_*: what it belongs to
    unsigned instead_of; // CO_ETW_*: only where this part can't be had; 0: always
    const uint8_t *guid;
    uint8_t level;
    uint64_t keywords;
    size_t event_count; // 0: all
    uint16_t events[ETW_PROVIDER_EVENTS_MAX];
} etw_provider;

extern const etw_provider co_etw_providers[];
extern const size_t co_etw_provider_count;
extern const uint8_t co_etw_guid_dxgkrnl[16];
extern const uint8_t co_etw_guid_lost[16]; // the class of what a real-time session tells of losses

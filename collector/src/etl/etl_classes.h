// SPDX-License-Identifier: MIT
// The kernel's classes of events (groups) and the providers that we have a name for.
#pragma once

#include "collector/etl.h"

enum {
    ETL_GROUP_HEADER = 0,
    ETL_GROUP_DISK = 1,
    ETL_GROUP_MEMORY = 2,
    ETL_GROUP_PROCESS = 3,
    ETL_GROUP_FILE = 4,
    ETL_GROUP_THREAD = 5,
    ETL_GROUP_TCPIP = 6,
    ETL_GROUP_UDPIP = 8,
    ETL_GROUP_REGISTRY = 9,
    ETL_GROUP_CONFIG = 11,
    ETL_GROUP_PERFINFO = 15,
    ETL_GROUP_IMAGE = 20,
    ETL_GROUP_STACKWALK = 24,
};

// "Process"; "?" for groups that nobody explains.
const char *co_etl_group_name(uint8_t group);

// The class's GUID as live events and classic records carry it; false where it is not known.
bool co_etl_group_guid(uint8_t group, uint8_t out[16]);

// The other way round: the group whose class this is.
bool co_etl_group_of(const uint8_t guid[16], uint8_t *out);

// The name of a provider that does not tell it itself, NULL if we have none.
const char *co_etl_provider_name(const uint8_t guid[16]);

extern const uint8_t co_etl_guid_kernel_process[16]; // Microsoft-Windows-Kernel-Process
extern const uint8_t co_etl_guid_ort[16];            // Microsoft.ML.ONNXRuntime
extern const uint8_t co_etl_guid_ort_log[16];        // ONNXRuntimeTraceLoggingProvider

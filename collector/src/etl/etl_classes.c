// SPDX-License-Identifier: MIT
#include "etl_classes.h"

#include <string.h>

// A GUID as it stands in memory, from the parts of its text.
#define GUID(a, b, c, d0, d1, d2, d3, d4, d5, d6, d7)                                              \
    {                                                                                              \
        (uint8_t)((a)&0xff), (uint8_t)((a) >> 8 & 0xff), (uint8_t)((a) >> 16 & 0xff),              \
            (uint8_t)((a) >> 24), (uint8_t)((b)&0xff), (uint8_t)((b) >> 8), (uint8_t)((c)&0xff),   \
            (uint8_t)((c) >> 8), d0, d1, d2, d3, d4, d5, d6, d7                                    \
    }

static const struct {
    const char *name;
    bool has_guid;
    uint8_t guid[16];
} groups[] = {
    [ETL_GROUP_HEADER] = {"Header", true,
                          GUID(0x68fdd900u, 0x4a3e, 0x11d1, 0x84, 0xf4, 0, 0, 0xf8, 0x04, 0x64,
                               0xe3)},
    [ETL_GROUP_DISK] = {"Io", true,
                        GUID(0x3d6fa8d4u, 0xfe05, 0x11d0, 0x9d, 0xda, 0, 0xc0, 0x4f, 0xd7, 0xba,
                             0x7c)},
    [ETL_GROUP_MEMORY] = {"Memory", true,
                          GUID(0x3d6fa8d3u, 0xfe05, 0x11d0, 0x9d, 0xda, 0, 0xc0, 0x4f, 0xd7, 0xba,
                               0x7c)},
    [ETL_GROUP_PROCESS] = {"Process", true,
                           GUID(0x3d6fa8d0u, 0xfe05, 0x11d0, 0x9d, 0xda, 0, 0xc0, 0x4f, 0xd7, 0xba,
                                0x7c)},
    [ETL_GROUP_FILE] = {"File", true,
                        GUID(0x90cbdc39u, 0x4a3e, 0x11d1, 0x84, 0xf4, 0, 0, 0xf8, 0x04, 0x64,
                             0xe3)},
    [ETL_GROUP_THREAD] = {"Thread", true,
                          GUID(0x3d6fa8d1u, 0xfe05, 0x11d0, 0x9d, 0xda, 0, 0xc0, 0x4f, 0xd7, 0xba,
                               0x7c)},
    [ETL_GROUP_TCPIP] = {"TcpIp", true,
                         GUID(0x9a280ac0u, 0xc8e0, 0x11d1, 0x84, 0xe2, 0, 0xc0, 0x4f, 0xb9, 0x98,
                              0xa2)},
    [7] = {.name = "Job"},
    [ETL_GROUP_UDPIP] = {"UdpIp", true,
                         GUID(0xbf3a50c5u, 0xa9c9, 0x4988, 0xa0, 0x05, 0x2d, 0xf0, 0xb7, 0xc8, 0x0f,
                              0x80)},
    [ETL_GROUP_REGISTRY] = {"Registry", true,
                            GUID(0xae53722eu, 0xc863, 0x11d2, 0x86, 0x59, 0, 0xc0, 0x4f, 0xa3, 0x21,
                                 0xa1)},
    [10] = {.name = "DbgPrint"},
    [ETL_GROUP_CONFIG] = {"Config", true,
                          GUID(0x01853a65u, 0x418f, 0x4f36, 0xae, 0xfc, 0xdc, 0x0f, 0x1d, 0x2f,
                               0xd2, 0x35)},
    [14] = {.name = "Pool"},
    [ETL_GROUP_PERFINFO] = {"PerfInfo", true,
                            GUID(0xce1dbfb4u, 0x137e, 0x4da6, 0x87, 0xb0, 0x3f, 0x59, 0xaa, 0x10,
                                 0x2c, 0xbc)},
    [16] = {.name = "Heap"},
    [17] = {.name = "Object"},
    [18] = {.name = "Power"},
    [ETL_GROUP_IMAGE] = {"Image", true,
                         GUID(0x2cb15d1du, 0x5fc1, 0x11d2, 0xab, 0xe1, 0, 0xa0, 0xc9, 0x11, 0xf5,
                              0x18)},
    [21] = {.name = "Dpc"},
    [ETL_GROUP_STACKWALK] = {"StackWalk", true,
                             GUID(0xdef2fe46u, 0x7bd6, 0x4b80, 0xbd, 0x94, 0xf5, 0x7f, 0xe2, 0x0d,
                                  0x0c, 0xe3)},
    [26] = {.name = "Alpc"},
    [28] = {.name = "ThreadPool"},
};

#define GROUP_COUNT (sizeof groups / sizeof *groups)

const uint8_t co_etl_guid_kernel_process[16] =
    GUID(0x22fb2cd6u, 0x0e7b, 0x422b, 0xa0, 0xc7, 0x2f, 0xad, 0x1f, 0xd0, 0xe7, 0x16);
const uint8_t co_etl_guid_ort[16] =
    GUID(0x3a26b1ffu, 0x7484, 0x7484, 0x74, 0x84, 0x15, 0x26, 0x1f, 0x42, 0x61, 0x4d);
const uint8_t co_etl_guid_ort_log[16] =
    GUID(0x929dd115u, 0x1ecb, 0x4cb5, 0xb0, 0x60, 0xeb, 0xd4, 0x98, 0x3c, 0x42, 0x1d);

static const struct {
    uint8_t guid[16];
    const char *name;
} providers[] = {
    {GUID(0x0f67e49fu, 0xfe51, 0x4e9f, 0xb4, 0x90, 0x6f, 0x29, 0x48, 0xcc, 0x60, 0x27),
     "Microsoft-Windows-Kernel-Processor-Power"},
    {GUID(0x331c3b3au, 0x2005, 0x44c2, 0xac, 0x5e, 0x77, 0x22, 0x0c, 0x37, 0xd6, 0xb4),
     "Microsoft-Windows-Kernel-Power"},
    {GUID(0x802ec45au, 0x1e99, 0x4b83, 0x99, 0x20, 0x87, 0xc9, 0x82, 0x77, 0xba, 0x9d),
     "Microsoft-Windows-DxgKrnl"},
    {GUID(0xca11c036u, 0x0102, 0x4a2d, 0xa6, 0xad, 0xf0, 0x3c, 0xfe, 0xd5, 0xd3, 0xc9),
     "Microsoft-Windows-DXGI"},
    {GUID(0x5d8087ddu, 0x3a9b, 0x4f56, 0x90, 0xdf, 0x49, 0x19, 0x6c, 0xdc, 0x4f, 0x11),
     "Microsoft-Windows-Direct3D12"},
    {GUID(0xb3e675d7u, 0x2554, 0x4f18, 0x83, 0x0b, 0x27, 0x62, 0x73, 0x25, 0x60, 0xde), "ImageID"},
    {GUID(0x9b79ee91u, 0xb5fd, 0x41c0, 0xa2, 0x43, 0x42, 0x48, 0xe2, 0x66, 0xe9, 0xd0),
     "SysConfig"},
};

const char *co_etl_group_name(uint8_t group)
{
    return group < GROUP_COUNT && groups[group].name ? groups[group].name : "?";
}

bool co_etl_group_guid(uint8_t group, uint8_t out[16])
{
    if (group >= GROUP_COUNT || !groups[group].has_guid)
        return false;
    memcpy(out, groups[group].guid, 16);
    return true;
}

bool co_etl_group_of(const uint8_t guid[16], uint8_t *out)
{
    for (uint8_t i = 0; i < GROUP_COUNT; i++) {
        if (groups[i].has_guid && memcmp(groups[i].guid, guid, 16) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

const char *co_etl_provider_name(const uint8_t guid[16])
{
    uint8_t group;
    if (co_etl_group_of(guid, &group))
        return groups[group].name;
    if (memcmp(guid, co_etl_guid_kernel_process, 16) == 0)
        return "Microsoft-Windows-Kernel-Process";
    if (memcmp(guid, co_etl_guid_ort, 16) == 0)
        return "Microsoft.ML.ONNXRuntime";
    if (memcmp(guid, co_etl_guid_ort_log, 16) == 0)
        return "ONNXRuntimeTraceLoggingProvider";
    for (size_t i = 0; i < sizeof providers / sizeof *providers; i++)
        if (memcmp(providers[i].guid, guid, 16) == 0)
            return providers[i].name;
    return NULL;
}

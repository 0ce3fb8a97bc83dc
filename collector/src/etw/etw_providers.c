// SPDX-License-Identifier: MIT
#include "etw_providers.h"

#include "collector/etw.h"
#include "etl/etl_classes.h"

const uint8_t co_etw_guid_dxgkrnl[16] = {0x5a, 0xc4, 0x2e, 0x80, 0x99, 0x1e, 0x83, 0x4b,
                                         0x99, 0x20, 0x87, 0xc9, 0x82, 0x77, 0xba, 0x9d};
const uint8_t co_etw_guid_lost[16] = {0xe0, 0x9a, 0x39, 0x6a, 0xc6, 0x4b, 0xe9, 0x4d,
                                      0x87, 0x0b, 0x36, 0x57, 0xf8, 0x94, 0x7e, 0x7e};

// ORT: 1 sessions, 0x100 profiling of QNN (level 5: basic), 0x400000000000 measures. Its log (2) is
// left out: asking for it would turn the log of every program on the machine up. Begin and end of a
// run have no keyword and level 5.
// Kernel-Process: processes, threads and images, where the kernel itself may not be heard.
// DxgKrnl: 1 base; packets enter and leave the queues of the graphics kernel, and its engines.
const etw_provider co_etw_providers[] = {
    {CO_ETW_ORT, 0, co_etl_guid_ort, 5, 0x400000000101u, 0, {0}},
    {CO_ETW_ORT, CO_ETW_KERNEL, co_etl_guid_kernel_process, 4, 0x70, 0, {0}},
    {CO_ETW_GPU, 0, co_etw_guid_dxgkrnl, 4, 1, 4, {175, 177, 178, 180}},
};
const size_t co_etw_provider_count = sizeof co_etw_providers / sizeof *co_etw_providers;

// SPDX-License-Identifier: MIT
// The parts of co_facts_gather() that need no Windows: they decide what the system's answers mean,
// so that every machine's answers can be tested on any machine.
#pragma once

#include "collector/facts.h"

// HKEY_LOCAL_MACHINE and the list of devices, as functions. Keys and values are UTF-8.
typedef struct co_registry {
    void *context;
    // False where there is no such value or it is of another type. Numbers also from bytes: drivers
    // store sizes so.
    bool (*text)(void *context, const char *key, const char *value, char *out, size_t capacity);
    bool (*number)(void *context, const char *key, const char *value, uint64_t *out);
    // The index-th subkey, or the index-th device of a class ("{4d36e968-...}") that is plugged in,
    // as its key below Enum. False behind the last one.
    bool (*subkey)(void *context, const char *key, unsigned index, char *out, size_t capacity);
    bool (*device)(void *context, const char *device_class, unsigned index, char *out,
                   size_t capacity);
} co_registry;

// Machine, firmware, edition of Windows, processor's nominal clock.
void co_machine_from_registry(co_facts *f, const co_registry *r);
// GPUs and NPUs with their drivers.
void co_machine_devices(co_facts *f, const co_registry *r);

// The answer of GetLogicalProcessorInformationEx(RelationAll): packages, cores, kinds of core,
// nodes and caches.
void co_machine_processors(co_facts *f, const void *records, size_t len);

// What the processor itself tells (CPUID): name, instructions that models profit from, whether its
// ticks are steady, and the hypervisor under it.
void co_machine_cpuid(co_facts *f);
// Who the vendor's twelve letters stand for; "" for none that we know.
const char *co_machine_hypervisor(const char *letters);
// The processor's ticks pass evenly whatever it does (invariant TSC).
bool co_machine_steady_ticks(void);

// SPDX-License-Identifier: MIT
// Words of the join, and the largest parts of something.
#include "analysis/join.h"

#include <stdlib.h>

const char *an_doing_name(an_doing doing)
{
    static const char *const names[] = {"unknown", "running", "ready", "preempted", "waiting"};
    return doing < AN_DOING_COUNT ? names[doing] : "unknown";
}

const char *an_fault_source_name(an_fault_source source)
{
    return source == AN_FAULTS_EVENTS ? "events" : source == AN_FAULTS_COUNTERS ? "counters" : NULL;
}

const char *an_wait_reason_name(int64_t reason)
{
    static const char *const names[] = {
        "Executive",        "FreePage",          "PageIn",           "PoolAllocation",
        "DelayExecution",   "Suspended",         "UserRequest",      "WrExecutive",
        "WrFreePage",       "WrPageIn",          "WrPoolAllocation", "WrDelayExecution",
        "WrSuspended",      "WrUserRequest",     "WrEventPair",      "WrQueue",
        "WrLpcReceive",     "WrLpcReply",        "WrVirtualMemory",  "WrPageOut",
        "WrRendezvous",     "WrKeyedEvent",      "WrTerminated",     "WrProcessInSwap",
        "WrCpuRateControl", "WrCalloutStack",    "WrKernel",         "WrResource",
        "WrPushLock",       "WrMutex",           "WrQuantumEnd",     "WrDispatchInt",
        "WrPreempted",      "WrYieldExecution",  "WrFastMutex",      "WrGuardedMutex",
        "WrRundown",        "WrAlertByThreadId", "WrDeferredPreempt"};
    return reason >= 0 && reason < (int64_t)(sizeof names / sizeof *names) ? names[reason]
                                                                           : "unknown";
}

void an_slices_add(an_slices *s, int64_t key, double ns)
{
    size_t i = 0;
    while (i < s->count && s->of[i].key != key)
        i++;
    if (i == AN_JOIN_SLICES) {
        s->others_ns += ns;
        return;
    }
    if (i == s->count) {
        s->of[i].key = key;
        s->of[i].ns = 0;
        s->count++;
    }
    s->of[i].ns += ns;
}

void an_slices_sort(an_slices *s)
{
    for (size_t i = 1; i < s->count; i++)
        for (size_t k = i; k > 0 && s->of[k].ns > s->of[k - 1].ns; k--) {
            int64_t key = s->of[k].key;
            double ns = s->of[k].ns;
            s->of[k] = s->of[k - 1];
            s->of[k - 1].key = key;
            s->of[k - 1].ns = ns;
        }
}

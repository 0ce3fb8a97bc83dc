// SPDX-License-Identifier: MIT
// What the machine did around each run: the run's thread on the processors, page faults, disks,
// clocks, GPUs and NPUs, and the time since the run before it. From rows of the system's own events
// (sched, ready, fault, disk) and from counters (counter, sample), whichever the file has.
//
// Definitions, the same in text, JSON and CSV:
// - on_cpu, ready, preempted, waiting, unknown: parts of the run's time by what its thread did;
// they
//   add up to its duration. preempted: it could have gone on, but another thread got the processor.
//   ready: it may run (again) after a wait, or gave way by itself, and has no processor yet.
//   unknown: before the thread's first switch, after its last one, and where a switch was lost.
//   NAN, all five, where no switch tells of any moment of the run. Where the file has no `ready`
//   rows, the time between being made ready and running is part of waiting, and ready is NAN.
// - preempted_by: the process that got the processor, for the whole time until the thread had one
//   again. waits: by KWAIT_REASON.
// - other threads: those on which operators of the run were executed, each from the first to the
//   last of them; their parts are added up.
// - page_faults, hard_faults: by events those of the run's thread, within it; else, by counters,
// those
//   of its whole process between the samples before and after it. disk: transfers that its thread
//   asked for and the time within the run that they took, added up.
// - clock_percent (100 is the nominal clock), clock_mhz, gpu_percent, npu_percent (the busiest
// device),
//   process_cpu (cores): means over the run. A sample tells of the time before it, back to the one
//   before. The clock is that of the processor on which the run was longest, where that is known
//   and has a counter, else of the machine.
// - off_cpu: at least so long the run had no processor, by counters: its time less what its process
//   used from the sample before it to the one after it, and less the ticks by which such times are
//   counted. cores_busy: the share of all cores' time that was used between the samples around it.
//   limit_percent: the lowest limit of the clock that the system told of. fault_window: the time in
//   which counters counted the faults.
// - gap: since the last end of a run of the same session before this one's begin; 0 if others of
// the
//   session were under way. thread_gap: the same for runs of its thread.
// NAN is "nobody told"; ask with an_known() of summary.h.
//
// Memory: that of AN_JOIN_MAX_RUNS runs, whatever else the file holds, and samples up to
// AN_JOIN_MAX_SAMPLES. More runs are joined in portions, each with readings of its own.
#pragma once

#include "analysis/source.h"

#include <stdbool.h>
#include <stddef.h>

#define AN_JOIN_MAX_RUNS    131072
#define AN_JOIN_MAX_SAMPLES (4u * 1024 * 1024)
#define AN_JOIN_SLICES      6

typedef enum an_doing {
    AN_DOING_UNKNOWN,
    AN_DOING_RUN,
    AN_DOING_READY,
    AN_DOING_PREEMPTED,
    AN_DOING_WAIT,
    AN_DOING_COUNT
} an_doing;

// A stretch of a thread's time. detail: the processor, 0, the process that got the processor, the
// reason of the wait.
typedef struct an_piece {
    int64_t begin_ns, end_ns;
    an_doing doing;
    int64_t detail;
} an_piece;

// The largest parts of something, by process or reason; the rest is in `others_ns`.
typedef struct an_slices {
    struct {
        int64_t key;
        double ns;
    } of[AN_JOIN_SLICES]; // largest first
    size_t count;
    double others_ns;
} an_slices;

typedef enum an_fault_source {
    AN_FAULTS_UNKNOWN,
    AN_FAULTS_EVENTS,
    AN_FAULTS_COUNTERS
} an_fault_source;

typedef struct an_joined {
    double on_cpu_ns, ready_ns, preempted_ns, waiting_ns, unknown_ns;
    double switches; // how often the thread lost or left its processor
    an_slices preempted_by, waits;
    size_t other_threads; // 0: none is known
    double other_on_cpu_ns, other_ready_ns, other_preempted_ns, other_waiting_ns;
    double page_faults, hard_faults, hard_fault_ns;
    an_fault_source fault_source;
    double disk_transfers, disk_ns;
    double clock_percent, clock_mhz, gpu_percent, npu_percent, process_cpu;
    double off_cpu_ns, cores_busy, limit_percent, fault_window_ns;
    double gap_ns, thread_gap_ns;
} an_joined;

typedef struct an_join_run {
    int64_t session, run, thread, begin_ns, duration_ns, in_flight;
} an_join_run;

typedef struct an_join an_join;

cm_status an_join_create(an_join **out);
void an_join_destroy(an_join *j); // NULL is fine

// The runs to be joined, at most AN_JOIN_MAX_RUNS (false beyond), all before an_join_read().
bool an_join_add(an_join *j, const an_join_run *run);
size_t an_join_count(const an_join *j);

// Before an_join_read(), for those who do not need the gaps, which cost a reading of all runs.
void an_join_without_gaps(an_join *j);

// Wanted before an_join_read(): every piece of time of a run's own thread, within the run.
void an_join_tell_pieces(an_join *j, void *context,
                         void (*piece)(void *context, size_t run, const an_piece *piece));

// Reads the file, several times. May fail for want of memory or by a file that can't be read.
cm_status an_join_read(an_join *j, const an_source *source);

// By the order of an_join_add().
const an_joined *an_join_get(const an_join *j, size_t run);

// A process's name as users know it, without folders: "chrome.exe"; "" if nobody told. Borrowed.
const char *an_join_process_name(const an_join *j, int64_t process);

// "running", "ready", "preempted", "waiting", "unknown"
const char *an_doing_name(an_doing doing);
const char *an_wait_reason_name(int64_t reason);          // "UserRequest"; "unknown"
const char *an_fault_source_name(an_fault_source source); // "events", "counters", NULL
void an_slices_add(an_slices *s, int64_t key, double ns);
void an_slices_sort(an_slices *s);

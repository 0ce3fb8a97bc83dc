// SPDX-License-Identifier: MIT
// A timeline as tracks: what Chrome's JSON and Perfetto's protobuf have in common.
//
// Tracks: a thread has its runs with the operators inside them; a session has its runs, those that
// overlap on lanes of their own; a processor has the threads that it ran; a counter has its values.
//
// Rows of a thread come in several blocks, out of order between kinds, and with times that were
// rounded and corrected: an operator may seem to begin some nanoseconds before its run. So slices
// wait in a window (trace_window.c), are put into order and made to nest exactly; those that touch
// are cut by what overlaps. What is longer than the window nests as its rows say.
#pragma once

#include "export.h"

#define VW_EX_WINDOW      (256 * 1024) // slices that wait
#define VW_EX_MAX_LANES   1000         // of a session
#define VW_EX_OWN_NUMBERS 1000000000   // above any pid and thread number of Windows
#define VW_EX_MACHINE_PID VW_EX_OWN_NUMBERS

typedef enum vw_ex_track_kind {
    VW_EX_TRACK_PROCESS, // instants
    VW_EX_TRACK_THREAD,
    VW_EX_TRACK_SESSION,
    VW_EX_TRACK_CPU,
    VW_EX_TRACK_COUNTER,
    VW_EX_TRACK_LIVE, // counters: what a session holds; what an arena uses and holds
    VW_EX_TRACK_ARENA_USED,
    VW_EX_TRACK_ARENA_HELD,
} vw_ex_track_kind;

typedef struct vw_ex_track {
    vw_ex_track_kind kind;
    int64_t process; // 0: the machine
    int64_t number;  // thread, session, processor, counter, arena
    unsigned lane;
    size_t index;     // its own place
    int64_t pid, tid; // as Chrome's JSON tells tracks apart
    int rank;         // among those of the process
    bool is_bytes;    // of counters
    char *name;
    unsigned declared_in; // the last part that has a description of it
    // What the window has put out: nothing before `done_ns` may begin any more, but what encloses
    // slices of one run.
    int64_t done_ns, run_floor_ns, run_session, run_number;
    int64_t arrow_session, arrow_run; // the last run that an arrow led here from
    int64_t last_ns;                  // counters: the value before
    double last_value;
    bool has_last;
} vw_ex_track;

typedef enum vw_ex_what {
    VW_EX_SLICE_RUN,
    VW_EX_SLICE_OP,
    VW_EX_SLICE_LOAD,
    VW_EX_SLICE_PHASE,
    VW_EX_SLICE_SCHED
} vw_ex_what;

typedef struct vw_ex_slice {
    int64_t begin_ns, end_ns;
    int64_t subject; // operator: its kernel; phase: which; thread on a processor: its number
    int64_t session; // of a thread on a processor: its process
    int64_t run;
    uint64_t arrow; // arrives here, 0: none. Of a run: the first that leaves
    uint32_t arrow_count;
    uint32_t track;
    int32_t status;
    uint16_t depth;
    uint8_t what, flags;
} vw_ex_slice;

typedef struct vw_ex_trace vw_ex_trace;

// What a format of traces has to do. Slices of a track come in the order of their begins, an
// enclosing one first, and never overlap but by enclosing; `end_track`: all of them have ended.
typedef struct vw_ex_trace_writer vw_ex_trace_writer;
struct vw_ex_trace_writer {
    void (*begin)(vw_ex_trace_writer *w);
    void (*track)(vw_ex_trace_writer *w, const vw_ex_track *track);
    void (*slice)(vw_ex_trace_writer *w, const vw_ex_track *track, const vw_ex_slice *slice);
    void (*end_track)(vw_ex_trace_writer *w, const vw_ex_track *track);
    void (*instant)(vw_ex_trace_writer *w, const vw_ex_track *track, int64_t time_ns,
                    const char *name, const char *text);
    void (*value)(vw_ex_trace_writer *w, const vw_ex_track *track, int64_t time_ns, double value);
    void (*end)(vw_ex_trace_writer *w);
    void (*destroy)(vw_ex_trace_writer *w);
    cm_out *out;
    vw_ex_facts *facts;
};

cm_status vw_ex_chrome_create(cm_out *out, vw_ex_facts *facts, vw_ex_trace_writer **result);
cm_status vw_ex_perfetto_create(cm_out *out, vw_ex_facts *facts, vw_ex_trace_writer **result);

typedef struct vw_ex_cpu {
    bool busy;
    int64_t since_ns, thread, process;
} vw_ex_cpu;

#define VW_EX_MAX_CPUS 4096

struct vw_ex_trace {
    vw_ex_job *job;
    vw_ex_trace_writer *writer;
    vw_ex_track **tracks;
    size_t track_count, track_capacity;
    cm_map track_by_key;
    cm_map counter_by_name; // by pid and name
    int64_t first_process;  // for what belongs to no known one
    vw_ex_slice *window;
    size_t waiting;
    uint64_t run_count;
    uint32_t *stack; // of places in the window
    vw_ex_cpu cpus[VW_EX_MAX_CPUS];
    int64_t last_switch_ns;
};

// ------------------------------------------------------------------------------- trace_tracks.c

// NULL without memory (told by the job's output).
vw_ex_track *vw_ex_track_get(vw_ex_trace *t, vw_ex_track_kind kind, int64_t process, int64_t number,
                             unsigned lane);
// The lane of a session that is free from `begin_ns` to `end_ns`; takes it.
vw_ex_track *vw_ex_session_lane(vw_ex_trace *t, int64_t session, int64_t *begin_ns,
                                int64_t *end_ns);
int64_t vw_ex_process_of_session(const vw_ex_trace *t, int64_t session);
// Sees to it that the part describes the track.
void vw_ex_declare(vw_ex_trace *t, vw_ex_track *track);
// "Conv", "run 7", "loading": the name of a slice; `scratch` may hold it.
const char *vw_ex_slice_name(const vw_ex_facts *f, const vw_ex_slice *s, char *scratch,
                             size_t size);
const char *vw_ex_short_provider(const char *provider, size_t *len); // "CPU"

// ------------------------------------------------------------------------------- trace_window.c

cm_status vw_ex_window_add(vw_ex_trace *t, const vw_ex_slice *slice);
// Puts out everything that waits.
cm_status vw_ex_window_end(vw_ex_trace *t);
// Makes slices of one track that are in the order of vw_ex_window_sort nest; for tests too.
void vw_ex_nest(vw_ex_slice *slices, size_t count, uint32_t *stack);
void vw_ex_window_sort(vw_ex_slice *slices, size_t count);

// The next part, if this one has its size. Only where no slice is open.
cm_status vw_ex_trace_split(vw_ex_trace *t);

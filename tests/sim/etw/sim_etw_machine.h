// SPDX-License-Identifier: MIT
// The machine: what event tracing keeps in the kernel, here in a named section that every process
// of a test maps. A host process holds it open, so that sessions outlive whoever started them.
//
// One spinlock guards it. Its word is the holder's thread id: a holder that was ended is noticed
// and the lock taken over. Whatever is changed under the lock is therefore changed in an order that
// leaves it usable at any moment: a record is written first, then the buffer's end moves.
//
// Sessions: FREE -> RUNNING -> (STOPPING: the host finishes the file) -> DRAINING (a consumer reads
// the rest; the name is free again) -> FREE.
// Buffers: FREE -> CURRENT (of a processor) -> WRITE (the host puts it into the file) -> READY (for
// the consumer) -> READING -> FREE. Without a file WRITE is skipped, without a consumer's mode
// READY.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <windows.h>

#define SE_SESSIONS        96 // running ones and those that are being drained
#define SE_PROVIDERS       32 // of one session
#define SE_BUFFERS         1024
#define SE_CPUS            8
#define SE_PROCESSES       128
#define SE_NOTES           512
#define SE_PIDS            8
#define SE_EVENT_IDS       64
#define SE_NAME            256
#define SE_PATH            520
#define SE_ARENA_BYTES     (512u << 20)
#define SE_BUFFER_HEADER   72u
#define SE_MAX_RECORD      65535u
#define SE_MAGIC           0x57544553u
#define SE_FOREVER         0xFFFFFFFFu
#define SE_CLOCK_QPC       1u
#define SE_CLOCK_SYSTEM    2u
#define SE_CLOCK_CYCLES    3u
#define SE_MODE_FILE_BITS  0x0000002Fu
#define SE_MODE_REALTIME   0x00000100u
#define SE_MODE_MS_TIMER   0x00000010u
#define SE_MODE_SYSTEM     0x02000000u
#define SE_MODE_INDEPEND   0x08000000u
#define SE_MODE_ONE_STREAM 0x10000000u

typedef enum se_state { SE_FREE, SE_RUNNING, SE_STOPPING, SE_DRAINING } se_state;

typedef enum se_buffer_state {
    SE_BUFFER_FREE,
    SE_BUFFER_CURRENT,
    SE_BUFFER_WRITE,
    SE_BUFFER_READY,
    SE_BUFFER_READING
} se_buffer_state;

typedef struct se_buffer {
    uint32_t state;
    uint32_t used; // the header counts
    uint32_t cpu;
    uint32_t flags; // of WMI_BUFFER_HEADER
    uint64_t sequence;
} se_buffer;

typedef struct se_enable {
    GUID provider;
    uint64_t any, all; // any is never 0: "all" is stored as all bits
    uint32_t in_use;
    uint32_t property;
    uint32_t pid_count; // 0: every process
    uint32_t pids[SE_PIDS];
    uint32_t id_count; // 0: every event
    uint16_t ids[SE_EVENT_IDS];
    uint8_t ids_pass; // these only, else all but these
    uint8_t level;
} se_enable;

typedef struct se_session {
    uint32_t state;
    uint32_t generation; // of this slot: an old handle is recognised
    uint32_t clock, buffer_bytes, min_buffers, max_buffers, mode, flush_ms, kernel_flags;
    uint32_t max_file_mb;
    int32_t age_limit;
    uint32_t events_lost, buffers_written, log_buffers_lost, rt_buffers_lost;
    uint32_t buffer_count; // how many of `buffers` are in use so far
    uint32_t consumer_pid; // 0: none
    uint32_t file_failed;
    uint32_t sample_interval_100ns;
    uint64_t arena_offset, arena_bytes;
    uint64_t next_sequence, next_flush_ms;
    int64_t start_filetime, start_stamp;
    GUID guid;
    uint32_t current[SE_CPUS]; // index + 1
    se_enable providers[SE_PROVIDERS];
    se_buffer buffers[SE_BUFFERS];
    WCHAR name[SE_NAME];
    WCHAR file[SE_PATH]; // absolute; empty: none
} se_session;

// A call of EnableTraceEx2 as the processes with that provider hear of it.
typedef struct se_note {
    GUID provider, source;
    uint64_t any, all;
    uint32_t code;
    uint32_t session; // slot
    uint8_t level;
} se_note;

typedef struct se_process {
    uint32_t pid; // 0: free
    uint32_t registrations;
    uint64_t heard; // notes up to this number have been delivered
} se_process;

// What a test can set: `sim_etw set NAME KEY VALUE`.
typedef struct se_settings {
    uint32_t deny;            // 1: neither administrator nor performance log user
    uint32_t deny_system;     // 1: no system loggers (a performance log user)
    uint32_t sessions;        // limit, 64
    uint32_t provider_limit;  // sessions that may enable one provider, 8
    uint32_t backlog;         // full buffers that may wait for a consumer; 0: all there are
    uint32_t consumer_delay;  // milliseconds that a consumer loses with each buffer
    uint32_t start_error;     // what StartTrace answers, 0: the truth
    uint32_t enable_error;    // the same for EnableTraceEx2
    uint32_t stuck_callbacks; // 1: enable callbacks are not delivered
    uint32_t hold_files;      // 1: nothing goes into files until their sessions are stopped
} se_settings;

typedef struct se_machine {
    uint32_t magic;
    volatile LONG lock; // thread id of the holder
    uint32_t host_pid;
    volatile LONG leave;          // the host shall end
    volatile LONG enables;        // providers enabled in all sessions: 0 makes writing cheap
    volatile LONG system_loggers; // running: 0 makes the kernel's events cheap
    se_settings settings;
    uint64_t notes; // posted so far
    se_note note[SE_NOTES];
    se_process processes[SE_PROCESSES];
    se_session sessions[SE_SESSIONS];
} se_machine;

extern se_machine *g_se; // null: no host, Wine's own functions stay

// Maps the machine of that name, or makes it (`create`). False: none there, or one there already.
bool se_machine_open(const WCHAR *name, bool create);

void se_lock(void);
void se_unlock(void);
// The same on any word; `se_word_held` by this thread.
void se_lock_word(volatile LONG *word);
void se_unlock_word(volatile LONG *word);
bool se_word_held(const volatile LONG *word);

bool se_process_lives(uint32_t pid);

// Named events of the machine: "host", "s3" (session slot), "p1234" (process). Made on first use.
void se_signal(const char *kind, uint32_t number);
HANDLE se_event_open(const char *kind, uint32_t number);

// SPDX-License-Identifier: MIT
// From a request to its answer, without sockets: who may, which path, which document.
#pragma once

#include "common/os.h"
#include "dashboard/server.h"
#include "request.h"

#include <pthread.h>

#define DA_CAPTURES DA_SERVER_CAPTURES

typedef struct da_shown {
    da_capture capture;
    uint32_t number; // 0: the place is free
    unsigned users;
} da_shown;

// How pushing the figures to an OTLP receiver goes.
typedef struct da_push_state {
    bool on;
    char url[300]; // without what could be secret
    uint64_t pushes, failed, rejected_points;
    char error[300]; // of the newest failure, "" where the newest push worked
} da_push_state;

// All that answers depend on.
typedef struct da_core {
    da_access access;
    da_host host;
    atomic_bool given_up; // answers that take long end: nobody waits for them any longer
    pthread_mutex_t lock; // of what follows
    da_shown captures[DA_CAPTURES];
    uint32_t last_number;
    double hz;
    uint64_t since_utc_ns; // when it was made
    da_push_state push;
    pthread_mutex_t audit_lock; // of what follows
    cm_file *audit;             // NULL: no log of control actions
    bool audit_failed;          // and that was told
    uint64_t strangers_second;  // lines about who has no token: so many in this second,
    unsigned strangers;
    uint64_t strangers_left_out; // and these were too many
} da_core;

typedef struct da_reply {
    int status;
    const char *type;    // Content-Type
    char download[300];  // name of a download, "" = none
    const uint8_t *file; // of the page, else the body counts
    size_t file_len;
    cm_out body;
    bool is_stream; // an export: ask da_stream for the bytes
    da_export stream;
    char stream_file[1100], stream_format[20], stream_table[40];
} da_reply;

void da_core_init(da_core *core, const da_host *host, double hz);
void da_core_deinit(da_core *core);

void da_reply_init(da_reply *reply);
void da_reply_deinit(da_reply *reply);

// Host, Origin, token, by path. 0: go on; else the reply says what is wrong.
int da_check(const da_core *core, const da_request *r, da_reply *reply, da_right *out_right);

// Everything but the WebSocket.
void da_handle(da_core *core, const da_request *r, da_reply *reply);

void da_reply_error(da_reply *reply, int status, const char *message);

// One message of the WebSocket; last: none follows.
typedef struct da_telling {
    double window_s, hz;
    bool control, last;
} da_telling;
void da_write_metrics(da_core *core, cm_out *out, const da_telling *t);
// control.c
cm_status da_audit_open(da_core *core, const char *path);
void da_audit_close(da_core *core);
void da_handle_control(da_core *core, const da_request *r, da_right right, da_reply *reply);
// Logs an attempt to control that did not get so far; idle for other requests.
void da_audit_refused(da_core *core, const da_request *r, int status);

// prometheus.c
void da_write_prometheus(da_core *core, cm_out *out);

// captures.c
uint32_t da_core_add(da_core *core, const da_capture *capture);
// False while somebody looks at it.
bool da_core_remove(da_core *core, uint32_t number);
// The capture that a number means, 0: the newest. NULL live: there is none; else it is held until
// da_core_release.
da_capture da_core_capture(da_core *core, uint32_t number, uint32_t *out_number);
void da_core_release(da_core *core, uint32_t number);
// For a loop over all: lets go of capture `*number` (0 at first) and holds the next one. NULL live:
// that was the last.
da_capture da_core_next(da_core *core, uint32_t *number);
// Another number when there is something new to tell.
uint64_t da_core_version(da_core *core);

// Files of the page, made at build time.
typedef struct da_page_file {
    const char *path, *type;
    const uint8_t *bytes;
    size_t len;
} da_page_file;
extern const da_page_file da_page_files[];
extern const size_t da_page_file_count;

// SPDX-License-Identifier: MIT
// A block of a file holds rows of one kind from a fifth of a second, and its rows become known when
// what they tell of ended. So blocks are read until one lies in the future, and of those that were
// read each row is told when the replay's clock has reached its end.
#include "dashboard/replay.h"

#include "common/os.h"
#include "replay_queue.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FEW_BLOCKS  16u // above that, what is due is told and let go before more is read
#define TURN_BLOCKS 64u // read in one turn at the most: then wishes are looked at again
#define TURN_MS     10u

struct da_replay {
    char *path;
    da_live *live;
    pthread_t thread;
    pthread_mutex_t lock; // of what is wanted
    bool stop, paused, seeking, over;
    double speed, seek_s;
    int64_t duration_ns;
    // only the thread's own
    tm_reader *reader;
    bool file_ended;
    da_replay_queue queue;
    int64_t clock_ns;
    int64_t reached_ns; // where reading is, while `behind`
    bool behind;        // not all that is due has been read
    uint64_t turn_ns;   // when the clock was last moved
};

// ----------------------------------------------------------------------------------------- reading

static uint64_t wanted_kinds(void)
{
    uint64_t mask = 0;
    for (unsigned kind = 0; kind < TM_KIND_COUNT; kind++)
        if (da_live_wants((tm_kind)kind))
            mask |= (uint64_t)1 << kind;
    return mask;
}

// False when the file is at its end, or there is no memory. *out_first: when its first row is due.
static bool read_block(da_replay *r, int64_t *out_first)
{
    tm_block b;
    if (r->file_ended || tm_reader_next(r->reader, &b) != CM_OK ||
        !da_queue_add(&r->queue, &b, out_first))
        r->file_ended = true;
    return !r->file_ended;
}

static void tell_due(da_replay *r)
{
    da_queue_tell(&r->queue, r->live, r->reader, r->clock_ns);
}

// Until a block lies in the future, or for a turn. A file may claim times that never come: the
// oldest block gives way where they fill the queue.
static void read_ahead(da_replay *r)
{
    int64_t first = 0;
    unsigned blocks = 0;
    r->behind = false;
    while (first <= r->clock_ns && !r->behind && read_block(r, &first)) {
        r->behind = ++blocks == TURN_BLOCKS;
        r->reached_ns = first > r->reached_ns ? first : r->reached_ns;
        if (r->clock_ns == INT64_MAX || r->queue.count >= FEW_BLOCKS || da_queue_is_full(&r->queue))
            tell_due(r);
        if (da_queue_is_full(&r->queue))
            da_queue_tell_oldest(&r->queue, r->live, r->reader);
    }
}

static cm_status open_file(da_replay *r)
{
    tm_reader *reader;
    CM_TRY(tm_reader_open(r->path, &reader));
    tm_reader_close(r->reader);
    tm_reader_only(reader, wanted_kinds());
    r->reader = reader;
    r->file_ended = false;
    r->reached_ns = 0;
    da_queue_clear(&r->queue);
    return CM_OK;
}

// The last moment that the file tells of.
static cm_status measure(const char *path, tm_reader **out_reader, int64_t *out_ns)
{
    tm_block b;
    int64_t row[TM_MAX_COLUMNS];
    CM_TRY(tm_reader_open(path, out_reader));
    tm_reader_only(*out_reader, TM_BIT(run) | TM_BIT(clock) | TM_BIT(process_end));
    while (tm_reader_next(*out_reader, &b) == CM_OK) {
        for (size_t i = 0; i < b.row_count; i++) {
            for (unsigned c = 0; c < tm_kind_get(b.kind)->column_count; c++)
                row[c] = b.columns[c][i];
            int64_t end = da_row_end(b.kind, row);
            *out_ns = end > *out_ns && end < INT64_MAX / 2 ? end : *out_ns;
        }
    }
    return CM_OK;
}

// -------------------------------------------------------------------------------------- the thread

static void move_clock(da_replay *r, bool paused, double speed)
{
    uint64_t now = cm_monotonic_ns();
    double step = paused ? 0 : (double)(now - r->turn_ns) * speed;
    r->turn_ns = now;
    if (r->clock_ns == INT64_MAX && r->behind)
        r->clock_ns = r->reached_ns; // it was to go as fast as it can, and no longer is
    if (speed == 0 && !paused)
        r->clock_ns = INT64_MAX;
    else if (r->clock_ns < INT64_MAX / 2)
        r->clock_ns += (int64_t)step;
}

static void seek(da_replay *r, double to_s)
{
    int64_t to = (int64_t)(to_s * 1e9);
    if (to < r->clock_ns) {
        if (open_file(r) != CM_OK)
            return;
        da_live_reset(r->live);
    }
    r->clock_ns = to;
}

static void turn(da_replay *r)
{
    pthread_mutex_lock(&r->lock);
    bool paused = r->paused, seeking = r->seeking;
    double speed = r->speed, to_s = r->seek_s;
    r->seeking = false;
    pthread_mutex_unlock(&r->lock);
    move_clock(r, paused, speed);
    if (seeking)
        seek(r, to_s);
    read_ahead(r);
    tell_due(r);
    bool over = r->file_ended && !r->queue.count && r->clock_ns >= r->duration_ns;
    int64_t now = r->behind && r->reached_ns < r->clock_ns ? r->reached_ns : r->clock_ns;
    da_live_time(r->live, now < r->duration_ns ? now : r->duration_ns);
    da_live_state(r->live, over ? DA_ENDED : paused ? DA_PAUSED : DA_PLAYING, speed);
    pthread_mutex_lock(&r->lock);
    r->over = over;
    pthread_mutex_unlock(&r->lock);
}

static void *replay_thread(void *context)
{
    da_replay *r = context;
    r->turn_ns = cm_monotonic_ns();
    for (;;) {
        pthread_mutex_lock(&r->lock);
        bool stop = r->stop;
        pthread_mutex_unlock(&r->lock);
        if (stop)
            return NULL;
        turn(r);
        // Behind it hurries, but who wants to see the figures must get a chance at their lock.
        cm_sleep_ms(r->behind ? 1 : TURN_MS);
    }
}

static cm_status control(void *context, const da_control *c)
{
    da_replay *r = context;
    cm_status status = CM_OK;
    pthread_mutex_lock(&r->lock);
    if (c->action == DA_PAUSE || c->action == DA_RESUME)
        r->paused = c->action == DA_PAUSE;
    else if (c->action == DA_SPEED)
        r->speed = c->speed;
    else if (c->action == DA_SEEK)
        r->seeking = true, r->seek_s = c->to_s;
    else
        status = cm_fail(CM_UNSUPPORTED, "A recording can't do that; it is over.");
    pthread_mutex_unlock(&r->lock);
    return status;
}

// ----------------------------------------------------------------------------------- begin and end

static void free_replay(da_replay *r)
{
    da_queue_clear(&r->queue);
    tm_reader_close(r->reader);
    da_live_destroy(r->live);
    free(r->path);
    free(r);
}

static uint64_t size_of(const char *path)
{
    cm_file *file;
    uint64_t bytes = 0;
    if (cm_file_open(path, &file) == CM_OK) {
        cm_file_size(file, &bytes);
        cm_file_close(file);
    }
    return bytes;
}

cm_status da_replay_start(const char *path, double speed, da_replay **out)
{
    da_replay *r = calloc(1, sizeof *r);
    if (!r || !(r->path = strdup(path))) {
        free(r);
        return cm_fail(CM_NO_MEMORY, "There is not enough memory to replay \"%s\".", path);
    }
    r->speed = speed;
    cm_status status = measure(path, &r->reader, &r->duration_ns);
    if (status == CM_OK) {
        const da_about about = {.replay = true,
                                .file = path,
                                .duration_s = (double)r->duration_ns / 1e9,
                                .header = tm_reader_header(r->reader)};
        status = da_live_create(&about, &r->live);
    }
    if (status == CM_OK)
        status = open_file(r);
    if (status == CM_OK) {
        da_live_file_bytes(r->live, size_of(path));
        pthread_mutex_init(&r->lock, NULL);
        if (pthread_create(&r->thread, NULL, replay_thread, r) != 0) {
            pthread_mutex_destroy(&r->lock);
            status = cm_fail(CM_FAILED, "The system did not start another thread.");
        }
    }
    if (status != CM_OK) {
        free_replay(r);
        return status;
    }
    *out = r;
    return CM_OK;
}

void da_replay_stop(da_replay *r)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    pthread_mutex_destroy(&r->lock);
    free_replay(r);
}

da_capture da_replay_capture(da_replay *r)
{
    return (da_capture){.live = r->live, .context = r, .control = control};
}

bool da_replay_is_over(da_replay *r)
{
    pthread_mutex_lock(&r->lock);
    bool over = r->over;
    pthread_mutex_unlock(&r->lock);
    return over;
}

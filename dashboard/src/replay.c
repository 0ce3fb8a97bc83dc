// SPDX-License-Identifier: MIT
// A block of a file holds rows of one kind from a fifth of a second, and its rows become known when
// what they tell of ended. So blocks are read until one lies in the future, and of those that were
// read each row is told when the replay's clock has reached its end.
#include "dashboard/replay.h"

#include "common/os.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BLOCKS 512u
#define FEW_BLOCKS  16u // above that, what is due is told and let go before more is read
#define TURN_MS     10u

typedef struct waiting_block {
    tm_kind kind;
    unsigned columns;
    size_t rows;
    int64_t *values; // row by row
} waiting_block;

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
    waiting_block blocks[MOST_BLOCKS];
    size_t block_count;
    int64_t clock_ns;
    uint64_t turn_ns; // when the clock was last moved
};

// ------------------------------------------------------------------------------------------- rows

static int64_t ends_at(tm_kind kind, const int64_t *row)
{
    int64_t begin = 0, duration = 0;
    if (kind == TM_KIND_run) {
        begin = row[TM_run_begin];
        duration = row[TM_run_duration];
    } else if (kind == TM_KIND_op) {
        begin = row[TM_op_begin];
        duration = row[TM_op_duration];
    } else {
        const tm_kind_info *info = tm_kind_get(kind);
        for (unsigned i = 0; i < info->column_count; i++) {
            if (info->columns[i].type == TM_TIME) {
                begin = row[i];
                break;
            }
        }
    }
    begin = begin < 0 ? 0 : begin;
    return duration <= 0 ? begin : duration < INT64_MAX - begin ? begin + duration : INT64_MAX;
}

static void tell_strings(da_replay *r, tm_kind kind, const int64_t *row)
{
    const tm_kind_info *info = tm_kind_get(kind);
    for (unsigned i = 0; i < info->column_count; i++) {
        if (info->columns[i].type != TM_STR || row[i] <= 0 || da_live_has_string(r->live, row[i]))
            continue;
        const char *text = tm_reader_string(r->reader, row[i]);
        da_live_string(r->live, row[i], text, strlen(text));
    }
}

// Tells the rows that are due and keeps the others in their order.
static void tell_block(da_replay *r, waiting_block *b)
{
    size_t kept = 0;
    for (size_t i = 0; i < b->rows; i++) {
        int64_t *row = b->values + i * b->columns;
        if (ends_at(b->kind, row) <= r->clock_ns) {
            tell_strings(r, b->kind, row);
            da_live_row(r->live, b->kind, row);
        } else {
            memmove(b->values + kept++ * b->columns, row, b->columns * sizeof *row);
        }
    }
    b->rows = kept;
}

static void tell_due(da_replay *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->block_count; i++) {
        tell_block(r, &r->blocks[i]);
        if (r->blocks[i].rows)
            r->blocks[kept++] = r->blocks[i];
        else
            free(r->blocks[i].values);
    }
    r->block_count = kept;
}

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
    if (r->file_ended || tm_reader_next(r->reader, &b) != CM_OK) {
        r->file_ended = true;
        return false;
    }
    unsigned columns = tm_kind_get(b.kind)->column_count;
    int64_t *values = malloc(b.row_count * columns * sizeof *values);
    if (!values) {
        r->file_ended = true;
        return false;
    }
    *out_first = INT64_MAX;
    for (size_t row = 0; row < b.row_count; row++) {
        for (unsigned c = 0; c < columns; c++)
            values[row * columns + c] = b.columns[c][row];
        int64_t end = ends_at(b.kind, values + row * columns);
        *out_first = end < *out_first ? end : *out_first;
    }
    r->blocks[r->block_count++] = (waiting_block){b.kind, columns, b.row_count, values};
    return true;
}

static void read_ahead(da_replay *r)
{
    int64_t first = 0;
    while (r->block_count < MOST_BLOCKS && first <= r->clock_ns && read_block(r, &first))
        if (r->clock_ns == INT64_MAX || r->block_count >= FEW_BLOCKS)
            tell_due(r);
}

static void forget_blocks(da_replay *r)
{
    for (size_t i = 0; i < r->block_count; i++)
        free(r->blocks[i].values);
    r->block_count = 0;
}

static cm_status open_file(da_replay *r)
{
    tm_reader *reader;
    CM_TRY(tm_reader_open(r->path, &reader));
    tm_reader_close(r->reader);
    tm_reader_only(reader, wanted_kinds());
    r->reader = reader;
    r->file_ended = false;
    forget_blocks(r);
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
            int64_t end = ends_at(b.kind, row);
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
    bool over = r->file_ended && !r->block_count && r->clock_ns >= r->duration_ns;
    da_live_time(r->live, r->clock_ns < r->duration_ns ? r->clock_ns : r->duration_ns);
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
        cm_sleep_ms(TURN_MS);
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

// ------------------------------------------------------------------------------------ begin and
// end

static void free_replay(da_replay *r)
{
    forget_blocks(r);
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

// SPDX-License-Identifier: MIT
#include "top_screen.h"

#include "common/os.h"
#include "screen.h"
#include "top_frame.h"

#include <string.h>

#define FRAME_MS 200u

typedef struct top {
    const da_capture *capture;
    vw_io *io;
    cm_out frame; // the picture, then what is sent
    da_top figures;
    da_top_choice choice;
    vw_top_look look;
    bool paused; // of a live capture: the picture stands still,
    bool chosen; // but for who chooses what it shows
} top;

static const double windows_s[] = {1, 5, 30, 60};

static double next_window(double now)
{
    size_t count = sizeof windows_s / sizeof *windows_s;
    for (size_t i = 0; i < count; i++)
        if (windows_s[i] > now)
            return windows_s[i];
    return windows_s[0];
}

static void take(top *t)
{
    if (!t->paused || t->chosen)
        da_top_take(t->capture->live, &t->choice, &t->figures);
    t->chosen = false;
    t->look.paused = t->paused;
    t->look.by_node = t->choice.by_node;
    t->look.session = t->choice.session;
    if (t->figures.op_count && t->look.first_op >= t->figures.op_count)
        t->look.first_op = t->figures.op_count - 1;
}

// From the upper left on, each line with an end that wipes what was there: nothing flickers.
static cm_status draw(top *t)
{
    vw_io picture = *t->io;
    cm_out_init_memory(&picture.out);
    vw_screen_size(&t->look.columns, &t->look.rows);
    vw_top_frame(&picture, &t->figures, &t->look);
    cm_out_clear(&t->frame);
    cm_out_text(&t->frame, "\x1b[H");
    for (const char *line = cm_out_string(&picture.out); *line;) {
        size_t len = strcspn(line, "\n");
        cm_out_bytes(&t->frame, line, len);
        cm_out_text(&t->frame, line[len] ? "\x1b[K\r\n" : "\x1b[K");
        line += len + (line[len] == '\n');
    }
    cm_out_text(&t->frame, "\x1b[J");
    const char *bytes = cm_out_string(&t->frame);
    cm_status status = cm_out_failed(&t->frame) || cm_out_failed(&picture.out)
                           ? cm_fail(CM_NO_MEMORY, "There is not enough memory for the screen.")
                           : cm_stream_write(CM_STDOUT, bytes, strlen(bytes));
    cm_out_deinit(&picture.out);
    return status;
}

static void tell(top *t, da_action action, double speed)
{
    da_control control = {.action = action, .speed = speed};
    if (t->capture->control)
        t->capture->control(t->capture->context, &control);
}

static void pause(top *t)
{
    if (t->figures.replay)
        tell(t, t->figures.state == DA_PAUSED ? DA_RESUME : DA_PAUSE, 0);
    else
        t->paused = !t->paused;
}

static void change_speed(top *t, double factor)
{
    double speed = t->figures.speed > 0 ? t->figures.speed * factor : 1;
    if (t->figures.replay && speed >= 0.1 && speed <= 1000)
        tell(t, DA_SPEED, speed);
}

// The next session after the chosen one; behind the last one all of them.
static void next_session(top *t)
{
    size_t i = 0;
    while (t->choice.session && i < t->figures.session_count &&
           t->figures.sessions[i++].id != t->choice.session)
        continue;
    t->choice.session = i < t->figures.session_count ? t->figures.sessions[i].id : 0;
}

static void scroll(top *t, int lines)
{
    size_t most = t->figures.op_count ? t->figures.op_count - 1 : 0;
    if (lines < 0)
        t->look.first_op -= t->look.first_op ? 1 : 0;
    else if (t->look.first_op < most)
        t->look.first_op++;
}

static void choose(top *t, int key)
{
    if (key == 's')
        next_session(t);
    else if (key == 'n')
        t->choice.by_node = !t->choice.by_node;
    else
        t->choice.window_s = next_window(t->choice.window_s);
    if (key != 'w')
        t->look.first_op = 0;
    t->chosen = true;
}

// False: the loop ends.
static bool on_key(top *t, int key)
{
    switch (key) {
    case 'q':
    case 27:
    case VW_KEY_QUIT:
        return false;
    case 'p':
    case ' ':
        pause(t);
        break;
    case 's':
    case 'n':
    case 'w':
        choose(t, key);
        break;
    case '+':
    case '=':
        change_speed(t, 2);
        break;
    case '-':
        change_speed(t, 0.5);
        break;
    case VW_KEY_DOWN:
        scroll(t, 1);
        break;
    case VW_KEY_UP:
        scroll(t, -1);
        break;
    default:
        break;
    }
    return true;
}

cm_status vw_top_screen(vw_io *io, const da_capture *capture, bool (*stopped)(void *context),
                        void *context)
{
    static top t; // too large for the stack
    t = (top){.capture = capture, .io = io, .choice = {.window_s = 5}};
    cm_out_init_memory(&t.frame);
    cm_status status = vw_screen_open();
    uint64_t due = 0;
    bool on = status == CM_OK;
    while (on && status == CM_OK && !(stopped && stopped(context))) {
        uint64_t now = cm_monotonic_ns();
        if (now >= due) {
            take(&t);
            status = draw(&t);
            due = now + FRAME_MS * 1000000u;
        }
        int key = vw_screen_key(now < due ? (unsigned)((due - now) / 1000000u) + 1 : 0);
        on = on_key(&t, key);
        if (key != VW_KEY_NONE)
            due = 0; // seen at once
    }
    vw_screen_close();
    cm_out_deinit(&t.frame);
    return status == CM_END ? CM_OK : status; // nobody looks any more
}

void vw_top_once(vw_io *io, const da_capture *capture)
{
    static top t;
    t = (top){.capture = capture, .io = io, .choice = {.window_s = 5}};
    take(&t);
    t.look.columns = io->width;
    vw_top_frame(io, &t.figures, &t.look);
}

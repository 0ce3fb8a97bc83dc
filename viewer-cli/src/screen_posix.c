// SPDX-License-Identifier: MIT
// See screen.h. Only what may be called in a signal handler happens in one: write, tcsetattr.
#include "screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define REST_MS 25 // for the rest of a sequence: ssh and full buffers cut them

static struct termios g_before, g_ours;
static volatile sig_atomic_t g_open, g_quit, g_resized;
static char g_pending[64]; // bytes of keys that were not asked for yet
static size_t g_pending_len;

static const int quit_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const int fatal_signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};

static void put(const char *text)
{
    for (size_t left = strlen(text); left;) {
        ssize_t done = write(STDOUT_FILENO, text, left);
        if (done < 0 && errno != EINTR)
            return;
        if (done > 0) {
            text += done;
            left -= (size_t)done;
        }
    }
}

static void leave(void)
{
    put(VW_SCREEN_LEAVE);
    tcsetattr(STDIN_FILENO, TCSANOW, &g_before);
}

static void enter(void)
{
    tcsetattr(STDIN_FILENO, TCSANOW, &g_ours);
    put(VW_SCREEN_ENTER);
}

static void on_quit(int number)
{
    (void)number;
    g_quit = 1;
}

static void on_fatal(int number)
{
    if (g_open)
        leave();
    signal(number, SIG_DFL);
    raise(number);
}

static void on_resize(int number)
{
    (void)number;
    g_resized = 1;
}

// Ctrl+Z: the shell gets its terminal, and we ours when we are let on.
static void on_stop(int number)
{
    int error = errno;
    leave();
    signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &set, NULL); // stops here
    signal(number, on_stop);
    enter();
    g_resized = 1;
    errno = error;
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

cm_status vw_screen_open(void)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &g_before) != 0)
        return cm_fail(CM_USAGE, "Standard input and output are no terminal; --once prints the "
                                 "numbers without one.");
    g_ours = g_before;
    g_ours.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    g_ours.c_cc[VMIN] = 0;
    g_ours.c_cc[VTIME] = 0;
    atexit(vw_screen_close);
    for (size_t i = 0; i < sizeof quit_signals / sizeof *quit_signals; i++)
        handle(quit_signals[i], on_quit);
    for (size_t i = 0; i < sizeof fatal_signals / sizeof *fatal_signals; i++)
        handle(fatal_signals[i], on_fatal);
    handle(SIGWINCH, on_resize);
    handle(SIGTSTP, on_stop);
    g_open = 1;
    enter();
    return CM_OK;
}

void vw_screen_close(void)
{
    if (!g_open)
        return;
    g_open = 0;
    handle(SIGTSTP, SIG_DFL);
    leave();
}

void vw_screen_size(unsigned *columns, unsigned *rows)
{
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;
    *columns = known ? size.ws_col : 80;
    *rows = known ? size.ws_row : 24;
}

// Waits for bytes and appends them; false: there are none.
static bool read_keys(int timeout_ms)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&input, 1, timeout_ms) <= 0)
        return false;
    ssize_t got = read(STDIN_FILENO, g_pending + g_pending_len, sizeof g_pending - g_pending_len);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
        g_quit = 1; // the terminal is gone
    g_pending_len += got > 0 ? (size_t)got : 0;
    return got > 0;
}

// Else an arrow that comes in two parts would be Escape, which quits. A signal is no answer.
static void read_rest(void)
{
    bool more = true;
    while (more && !g_quit && g_pending_len < sizeof g_pending &&
           vw_screen_is_cut(g_pending, g_pending_len)) {
        errno = 0;
        more = read_keys(REST_MS) || errno == EINTR;
    }
}

int vw_screen_key(unsigned timeout_ms)
{
    if (!g_pending_len && !g_quit)
        read_keys((int)timeout_ms);
    read_rest();
    if (g_quit)
        return VW_KEY_QUIT;
    if (g_resized) {
        g_resized = 0;
        return VW_KEY_RESIZED;
    }
    size_t taken;
    int key = vw_screen_decode(g_pending, g_pending_len, &taken);
    g_pending_len -= taken;
    memmove(g_pending, g_pending + taken, g_pending_len);
    return key;
}

// SPDX-License-Identifier: MIT
#include "serve_system.h"

#include <signal.h>
#include <spawn.h>
#include <stdlib.h>

extern char **environ;

static volatile sig_atomic_t stopped;

static void on_signal(int signal_number)
{
    (void)signal_number;
    stopped = 1;
}

void vw_serve_stop_install(void)
{
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    signal(SIGCHLD, SIG_IGN); // the browser's starter
}

bool vw_serve_stopped(void)
{
    return stopped;
}

bool vw_open_browser(const char *url)
{
    pid_t pid;
    char program[] = "xdg-open";
    char *const arguments[] = {program, (char *)(size_t)url, NULL};
    if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
        return false;
    return posix_spawnp(&pid, program, NULL, NULL, arguments, environ) == 0;
}

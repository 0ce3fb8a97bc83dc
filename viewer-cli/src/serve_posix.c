// SPDX-License-Identifier: MIT
#include "serve_system.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

static volatile sig_atomic_t stopped;
static char opened_file[512]; // "": none

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

static void remove_opened_file(void)
{
    unlink(opened_file);
}

// Everybody can read the arguments of every process, so the address with its token goes to the
// browser in a file that only this user can read. In the home folder: browsers in a box of their
// own do not see /tmp.
static bool write_redirect(const char *url)
{
    const char *folder = getenv("HOME");
    if (!folder || access(folder, W_OK) != 0)
        folder = "/tmp";
    snprintf(opened_file, sizeof opened_file, "%s/ortscope-XXXXXX.html", folder);
    int fd = mkstemps(opened_file, 5); // for its owner alone
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!file)
        return false;
    atexit(remove_opened_file);
    fprintf(file,
            "<!doctype html><meta charset=\"utf-8\"><title>ortscope</title>"
            "<meta name=\"referrer\" content=\"no-referrer\">"
            "<meta http-equiv=\"refresh\" content=\"0; url=%s\"><a href=\"%s\">ortscope</a>\n",
            url, url);
    return fclose(file) == 0;
}

bool vw_open_browser(const char *url)
{
    pid_t pid;
    char program[] = "xdg-open";
    char *const arguments[] = {program, opened_file, NULL};
    if ((!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) || !write_redirect(url))
        return false;
    return posix_spawnp(&pid, program, NULL, NULL, arguments, environ) == 0;
}

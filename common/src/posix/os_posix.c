// SPDX-License-Identifier: MIT
// The contract of common/os.h on POSIX systems. Interrupted and partial calls are finished here;
// nobody above has to know of them.
#include "common/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct cm_file {
    int fd;
    char path[]; // for the sentences
};

// The largest single request; Linux itself stops a little below 2 GB.
#define CHUNK_BYTES ((size_t)1 << 30)

static cm_status fail_errno(int error, const char *what, const char *path)
{
    cm_status status = error == ENOENT || error == ENOTDIR                   ? CM_NOT_FOUND
                       : error == EACCES || error == EPERM || error == EROFS ? CM_ACCESS_DENIED
                                                                             : CM_IO;
    return cm_fail(status, "Cannot %s \"%s\": %s.", what, path, strerror(error));
}

static cm_status open_fd_as(const char *path, int flags, mode_t mode, const char *what,
                            cm_file **out)
{
    int fd;
    do {
        fd = open(path, flags | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return fail_errno(errno, what, path);
    struct stat info;
    if (fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) {
        int error = S_ISDIR(info.st_mode) ? EISDIR : errno;
        close(fd);
        return fail_errno(error, what, path);
    }
    size_t path_size = strlen(path) + 1;
    cm_file *f = malloc(sizeof *f + path_size);
    if (!f) {
        close(fd);
        return cm_fail(CM_NO_MEMORY, "There is not enough memory to open \"%s\".", path);
    }
    f->fd = fd;
    memcpy(f->path, path, path_size);
    *out = f;
    return CM_OK;
}

static cm_status open_fd(const char *path, int flags, const char *what, cm_file **out)
{
    return open_fd_as(path, flags, 0666, what, out);
}

cm_status cm_file_open(const char *path, cm_file **out)
{
    return open_fd(path, O_RDONLY, "open", out);
}

cm_status cm_file_create(const char *path, cm_file **out)
{
    return open_fd(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, "create", out);
}

cm_status cm_file_append(const char *path, cm_file **out)
{
    return open_fd_as(path, O_WRONLY | O_CREAT | O_APPEND, 0600, "write to", out);
}

cm_status cm_file_can_create(const char *path)
{
    cm_file *f;
    cm_status status = open_fd(path, O_WRONLY, "create", &f);
    if (status == CM_NOT_FOUND) {
        status = open_fd(path, O_WRONLY | O_CREAT | O_EXCL, "create", &f);
        if (status == CM_OK)
            unlink(path);
    }
    return status == CM_OK ? cm_file_close(f) : status;
}

cm_status cm_file_size(cm_file *f, uint64_t *out_bytes)
{
    struct stat info;
    if (fstat(f->fd, &info) != 0)
        return fail_errno(errno, "get the size of", f->path);
    *out_bytes = (uint64_t)info.st_size;
    return CM_OK;
}

cm_status cm_file_read_at(cm_file *f, uint64_t offset, void *buffer, size_t len, size_t *out_len)
{
    size_t done = 0;
    while (done < len && offset + done <= INT64_MAX) {
        size_t chunk = len - done < CHUNK_BYTES ? len - done : CHUNK_BYTES;
        ssize_t got = pread(f->fd, (char *)buffer + done, chunk, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(errno, "read", f->path);
        if (got == 0)
            break;
        done += (size_t)got;
    }
    *out_len = done;
    return CM_OK;
}

cm_status cm_file_write(cm_file *f, const void *data, size_t len)
{
    for (size_t done = 0; done < len;) {
        size_t chunk = len - done < CHUNK_BYTES ? len - done : CHUNK_BYTES;
        ssize_t put = write(f->fd, (const char *)data + done, chunk);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return fail_errno(errno, "write to", f->path);
        done += (size_t)put;
    }
    return CM_OK;
}

cm_status cm_file_sync(cm_file *f)
{
    // What cannot be synchronised (a pipe, /dev/null) has nothing to lose either.
    if (fsync(f->fd) != 0 && errno != EINVAL && errno != EROFS)
        return fail_errno(errno, "write to", f->path);
    return CM_OK;
}

cm_status cm_file_close(cm_file *f)
{
    cm_status status = CM_OK;
    if (!f)
        return CM_OK;
    // Not repeated on EINTR: the descriptor is gone already.
    if (close(f->fd) != 0 && errno != EINTR)
        status = fail_errno(errno, "close", f->path);
    free(f);
    return status;
}

cm_status cm_file_remove(const char *path)
{
    return unlink(path) == 0 ? CM_OK : fail_errno(errno, "remove", path);
}

void cm_file_discard(const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
        unlink(path);
}

bool cm_file_is_same(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t cm_monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t cm_utc_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}

void cm_sleep_ms(uint32_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

void cm_fine_timer(bool on)
{
    (void)on; // it always is
}

cm_status cm_stream_write(cm_stream stream, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t done = write(stream == CM_STDOUT ? STDOUT_FILENO : STDERR_FILENO, at, len);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0 && errno == EPIPE)
            return CM_END;
        if (done < 0)
            return cm_fail(CM_IO, "The output could not be written: %s.", strerror(errno));
        at += done;
        len -= (size_t)done;
    }
    return CM_OK;
}

bool cm_is_terminal(cm_stream stream)
{
    return isatty((int)stream) == 1;
}

unsigned cm_terminal_width(cm_stream stream)
{
    struct winsize size;
    return cm_is_terminal(stream) && ioctl((int)stream, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool cm_terminal_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"}; // the first one set decides
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && value[0])
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

void cm_console_init(void)
{
    // Terminals here take UTF-8 bytes as they are.
}

cm_status cm_args_utf8(int argc, char *argv[], int *out_argc, char ***out_argv)
{
    *out_argc = argc;
    *out_argv = argv;
    return CM_OK;
}

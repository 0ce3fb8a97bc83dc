// SPDX-License-Identifier: MIT
// Quoting by the rules of CommandLineToArgvW: 2n backslashes before a quote mean n backslashes, one
// more makes the quote literal, backslashes elsewhere are themselves. What needs no quotes gets
// none, since some programs look at the raw string. argv[0] follows other rules: its quotes can't
// be escaped and its backslashes never escape.
#include "command_line.h"

#include <string.h>

typedef struct line {
    char *out;
    size_t capacity;
    size_t len;
} line;

static void put(line *l, char c)
{
    if (l->len < l->capacity)
        l->out[l->len] = c;
    l->len++;
}

static void put_times(line *l, char c, size_t count)
{
    while (count-- > 0)
        put(l, c);
}

static bool needs_quotes(const char *arg)
{
    return *arg == '\0' || strpbrk(arg, " \t\n\v\"") != NULL;
}

static void put_program(line *l, const char *arg)
{
    bool quoted = needs_quotes(arg);
    if (quoted)
        put(l, '"');
    for (; *arg; arg++)
        put(l, *arg);
    if (quoted)
        put(l, '"');
}

static void put_argument(line *l, const char *arg)
{
    if (!needs_quotes(arg)) {
        for (; *arg; arg++)
            put(l, *arg);
        return;
    }
    put(l, '"');
    size_t backslashes = 0;
    for (; *arg; arg++) {
        if (*arg == '\\') {
            backslashes++;
            continue;
        }
        if (*arg == '"')
            put_times(l, '\\', 2 * backslashes + 1);
        else
            put_times(l, '\\', backslashes);
        backslashes = 0;
        put(l, *arg);
    }
    put_times(l, '\\', 2 * backslashes); // they stand before the closing quote
    put(l, '"');
}

size_t inj_command_line(int argc, char *const argv[], char *out, size_t out_bytes)
{
    line l = {.out = out, .capacity = out_bytes};
    for (int i = 0; i < argc; i++) {
        if (i == 0) {
            put_program(&l, argv[i]);
        } else {
            put(&l, ' ');
            put_argument(&l, argv[i]);
        }
    }
    if (l.len < l.capacity)
        out[l.len] = '\0';
    return l.len;
}

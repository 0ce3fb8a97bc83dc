// SPDX-License-Identifier: MIT
#include "common/status.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char g_sentence[1024];
static _Thread_local cm_status g_sentence_status;

cm_status cm_fail(cm_status status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(g_sentence, sizeof g_sentence, fmt, args);
    va_end(args);
    g_sentence_status = status;
    return status;
}

static const struct {
    const char *name;
    int exit_code;
    const char *text;
} statuses[] = {
#define XX(name, exit_code, text) {#name, exit_code, text},
    CM_STATUS_MAP(XX)
#undef XX
};

const char *cm_error_text(cm_status status)
{
    if (g_sentence[0] && g_sentence_status == status)
        return g_sentence;
    return statuses[status].text;
}

int cm_exit_code(cm_status status)
{
    return statuses[status].exit_code;
}

const char *cm_status_name(cm_status status)
{
    return statuses[status].name;
}

// SPDX-License-Identifier: MIT
// Whether event tracing can be had here: found out by trying, since groups, privileges, policies
// and limits all have a say in it.
#include "etw_providers.h"
#include "etw_session.h"

#include <stdio.h>

static void note_answer(const etw_session *s, bool had, bool kernel, co_etw_finding *out)
{
    const char *what = kernel ? "The kernel's events (--etw kernel)"
                              : "ONNX Runtime's own events by event tracing (--etw ort)";
    *out = (co_etw_finding){.answer = CO_ETW_AVAILABLE};
    if (had) {
        snprintf(out->sentence, sizeof out->sentence, "%s can be recorded.", what);
    } else if (s->last_error == ETW_ACCESS_DENIED || s->last_error == ETW_PRIVILEGE_NOT_HELD) {
        out->answer = CO_ETW_NO_RIGHTS;
        snprintf(out->sentence, sizeof out->sentence, "%s need%s.", what,
                 kernel ? " administrator rights: start ortscope from a terminal that runs as "
                          "administrator"
                        : " administrator rights or membership in the group Performance Log "
                          "Users: join it as administrator, then sign in again");
        snprintf(out->fix, sizeof out->fix, "%s",
                 kernel ? "powershell Start-Process cmd -Verb RunAs" : ETW_JOIN_COMMAND);
    } else if (s->last_error == ETW_NO_SYSTEM_RESOURCES) {
        out->answer = CO_ETW_NO_ROOM;
        snprintf(out->sentence, sizeof out->sentence,
                 "%s find no free session: Windows allows 64, of which 8 may hear the kernel.",
                 what);
        snprintf(out->fix, sizeof out->fix, "logman query -ets");
    } else {
        out->answer = CO_ETW_NOT_AVAILABLE;
        snprintf(out->sentence, sizeof out->sentence, "%s are not available here.", what);
    }
}

static void check_part(const etw_api *api, etw_identity self, unsigned part, co_etw_finding *out)
{
    etw_session s = {.last_error = ETW_NO_SUCH_SESSION};
    etw_wish wish = {.parts = part, .buffers = 4, .processors = 1, .self = self};
    bool had = api && co_etw_session_start(&s, api, &wish, NULL);
    note_answer(&s, had, part == CO_ETW_KERNEL, out);
    co_etw_session_stop(&s, NULL);
}

void co_etw_check_with(const etw_api *api, etw_identity self, co_etw_findings *out)
{
    check_part(api, self, CO_ETW_KERNEL, &out->kernel);
    check_part(api, self, CO_ETW_ORT, &out->ort);
}

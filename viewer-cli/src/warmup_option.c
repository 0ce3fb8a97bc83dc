// SPDX-License-Identifier: MIT
// See warmup_option.h.
#include "warmup_option.h"

#include "timeline_input.h"

#include <stdlib.h>
#include <string.h>

cm_status vw_read_warmup(const char *text, an_warmup *out)
{
    if (strcmp(text, "auto") == 0) {
        *out = (an_warmup){AN_WARMUP_AUTO, 0};
        return CM_OK;
    }
    size_t len = strlen(text);
    if (len == 0 || len > 9 || strspn(text, "0123456789") != len)
        return cm_fail(CM_USAGE, "--warmup takes a number of runs or \"auto\", not \"%s\".", text);
    *out = (an_warmup){AN_WARMUP_RUNS, strtoll(text, NULL, 10)};
    return CM_OK;
}

cm_status vw_find_warmup(const char *path, an_warmup warmup, cm_map *ends)
{
    tm_reader *reader = NULL;
    an_summary *summary = NULL;
    if (warmup.choice != AN_WARMUP_AUTO)
        return CM_OK;
    CM_TRY(vw_open_timeline(path, &reader));
    tm_reader_only(reader, TM_BIT(run));
    cm_status status = an_summarize(reader, &summary);
    for (size_t i = 0; status == CM_OK && i < summary->session_count; i++) {
        const an_session *n = &summary->sessions[i];
        if (!cm_map_put(ends, n->id, (size_t)an_warmup_end(n, warmup)))
            status = cm_fail(CM_NO_MEMORY, "There is not enough memory for so many sessions.");
    }
    an_summary_destroy(summary);
    tm_reader_close(reader);
    return status;
}

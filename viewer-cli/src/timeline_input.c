// SPDX-License-Identifier: MIT
// See timeline_input.h.
#include "timeline_input.h"

#include "output.h"

#include <stdio.h>

cm_status vw_file_failure(cm_status status)
{
    char sentence[1024];
    if (status != CM_NOT_FOUND && status != CM_ACCESS_DENIED && status != CM_UNSUPPORTED)
        return status;
    snprintf(sentence, sizeof sentence, "%s", cm_error_text(status));
    return cm_fail(CM_IO, "%s", sentence);
}

cm_status vw_open_timeline(const char *path, tm_reader **out)
{
    return vw_file_failure(tm_reader_open(path, out));
}

cm_status vw_no_session(const char *path, int64_t session)
{
    return cm_fail(CM_FAILED,
                   "\"%s\" has no session %lld; `ortscope summary --csv` lists those that it has.",
                   path, (long long)session);
}

cm_status vw_need_session(const char *path, int64_t session)
{
    tm_reader *reader;
    tm_block b;
    bool found = false;
    CM_TRY(vw_open_timeline(path, &reader));
    tm_reader_only(reader, TM_BIT(session) | TM_BIT(run));
    cm_status status = CM_OK;
    while (!found && (status = tm_reader_next(reader, &b)) == CM_OK) {
        const int64_t *ids =
            b.columns[b.kind == TM_KIND_run ? (int)TM_run_session : (int)TM_session_session];
        for (size_t row = 0; row < b.row_count && !found; row++)
            found = ids[row] == session;
    }
    tm_reader_close(reader);
    if (found)
        return CM_OK;
    return status == CM_END ? vw_no_session(path, session) : status;
}

static cm_status open_again(void *path, tm_reader **out)
{
    return vw_open_timeline(path, out);
}

an_source vw_source_of(const char *path)
{
    return (an_source){(void *)(uintptr_t)path, open_again};
}

void vw_warn_of_damage(const char *path, const char *damage)
{
    if (damage)
        vw_message("warning: \"%s\" is not whole. %s", path, damage);
}

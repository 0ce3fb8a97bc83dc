// SPDX-License-Identifier: MIT
// See timeline_input.h.
#include "timeline_input.h"

#include "output.h"

#include <stdio.h>

cm_status vw_open_timeline(const char *path, tm_reader **out)
{
    cm_status status = tm_reader_open(path, out);
    if (status != CM_NOT_FOUND)
        return status;
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", cm_error_text(status));
    return cm_fail(CM_IO, "%s", sentence);
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

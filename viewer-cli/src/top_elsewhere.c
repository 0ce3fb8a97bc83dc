// SPDX-License-Identifier: MIT
#include "top_capture.h"

cm_status vw_top_capture(vw_io *io, const char *who, const vw_top_capture_args *args)
{
    (void)io;
    (void)args;
    if (!who)
        return cm_fail(CM_USAGE, "Which recording? Add its file: `ortscope top FILE`.");
    return cm_fail(
        CM_IO, "There is no file \"%s\", and processes can be looked into on Windows only.", who);
}

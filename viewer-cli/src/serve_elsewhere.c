// SPDX-License-Identifier: MIT
#include "serve_attach.h"

cm_status vw_serve_captures_create(vw_serve_captures **out, da_host *host)
{
    (void)out;
    (void)host;
    return cm_fail(CM_USAGE, "Which recording? `ortscope serve trace.ortl` shows one; attaching to "
                             "processes needs Windows.");
}

void vw_serve_captures_show_on(vw_serve_captures *c, da_server *server)
{
    (void)c;
    (void)server;
}

void vw_serve_captures_end(vw_serve_captures *c)
{
    (void)c;
}

void vw_serve_captures_destroy(vw_serve_captures *c)
{
    (void)c;
}

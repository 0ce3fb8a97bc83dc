// SPDX-License-Identifier: MIT
#include "tracelogging/etw.h"

const tl_etw_api *tl_etw_system(void)
{
    return NULL; // there is no ETW here
}

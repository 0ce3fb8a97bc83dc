// SPDX-License-Identifier: MIT
// See warmup_option.h.
#include "warmup_option.h"

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

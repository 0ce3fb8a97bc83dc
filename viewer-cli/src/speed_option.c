// SPDX-License-Identifier: MIT
#include "speed_option.h"

#include <stdlib.h>
#include <string.h>

cm_status vw_read_speed(const char *text, double *out)
{
    char *end;
    *out = 1;
    if (!text)
        return CM_OK;
    if (strcmp(text, "max") == 0) {
        *out = 0;
        return CM_OK;
    }
    *out = strtod(text, &end);
    if (end == text || *end || !(*out >= 0.1 && *out <= 1000))
        return cm_fail(CM_USAGE, "--speed takes 0.1 to 1000, or max.");
    return CM_OK;
}

// SPDX-License-Identifier: MIT
#include "../server_internal.h"

#include <sys/random.h>

bool da_random(void *out, size_t len)
{
    return getrandom(out, len, 0) == (ssize_t)len;
}

// SPDX-License-Identifier: MIT
#include "../random.h"

#include <errno.h>
#include <sys/random.h>

bool da_random(void *out, size_t len)
{
    char *to = out;
    while (len) {
        ssize_t n = getrandom(to, len, 0); // more than 256 bytes may come in parts
        if (n <= 0 && errno != EINTR)
            return false;
        to += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

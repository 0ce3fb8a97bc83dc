// SPDX-License-Identifier: MIT
#include "../random.h"

#include <windows.h>

#include <bcrypt.h>

bool da_random(void *out, size_t len)
{
    return BCryptGenRandom(NULL, out, (ULONG)len, BCRYPT_USE_SYSTEM_PREFERRED_RNG) == 0;
}

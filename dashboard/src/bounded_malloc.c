// SPDX-License-Identifier: MIT
// CivetWeb's malloc (cmake/deps.cmake renames it): it asks for as much as a client's frame claims
// to have. No answer or request of ours is near the limit.
#include <stddef.h>
#include <stdlib.h>

#define MOST_BYTES (1u << 20)

void *da_bounded_malloc(size_t size);

void *da_bounded_malloc(size_t size)
{
    return size > MOST_BYTES ? NULL : malloc(size);
}

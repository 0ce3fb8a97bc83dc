// SPDX-License-Identifier: MIT
// The few things that a C library would supply. The DLL links none: it shares no C runtime state
// with the target and imports only what every process has. Memory is from a heap of our own, so
// that a target whose heap is damaged or locked does not take us along.
#include "hook.h"

void *hk_alloc(size_t bytes)
{
    return HeapAlloc(g_hk.heap, HEAP_ZERO_MEMORY, bytes);
}

void *hk_alloc_for_good(size_t bytes)
{
    uint8_t *memory = hk_alloc(bytes + HK_CACHE_LINE - 1);
    return memory ? memory + (-(uintptr_t)memory & (HK_CACHE_LINE - 1)) : NULL;
}

void hk_free(void *memory)
{
    if (memory)
        HeapFree(g_hk.heap, 0, memory);
}

// The compiler emits calls to these four whatever the source says.
void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    void *result = to;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
    return result;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    if ((uintptr_t)to - (uintptr_t)from >= bytes)
        return memcpy(to, from, bytes);
    uint8_t *last_to = (uint8_t *)to + bytes - 1;
    const uint8_t *last_from = (const uint8_t *)from + bytes - 1;
    if (bytes)
        __asm__ volatile("std; rep movsb; cld"
                         : "+D"(last_to), "+S"(last_from), "+c"(bytes)
                         :
                         : "memory");
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    void *result = to;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(value) : "memory");
    return result;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
    const volatile uint8_t *x = a, *y = b;
    for (size_t i = 0; i < bytes; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

// SPDX-License-Identifier: MIT
// Makes code pages writable around a commit and gives each page its own protection back. A page is
// never made non-executable meanwhile: threads may be running in it.
#include "detour_internal.h"

#include <windows.h>

enum { PAGES_MAX = 2 * HK_DETOUR_MAX_OPS };

typedef struct opened_page {
    uint8_t *base;
    DWORD protection;
} opened_page;

static opened_page g_pages[PAGES_MAX];
static size_t g_page_count;

static bool is_open(const uint8_t *base)
{
    for (size_t i = 0; i < g_page_count; i++)
        if (g_pages[i].base == base)
            return true;
    return false;
}

bool hk_pages_open(uint8_t *at, size_t len)
{
    uintptr_t first = (uintptr_t)at & ~(uintptr_t)(HK_PAGE_LEN - 1);
    for (uintptr_t base = first; base < (uintptr_t)at + len; base += HK_PAGE_LEN) {
        opened_page page = {.base = (uint8_t *)base};
        if (is_open(page.base))
            continue;
        if (g_page_count == PAGES_MAX)
            return false;
        if (!VirtualProtect(page.base, HK_PAGE_LEN, PAGE_EXECUTE_READWRITE, &page.protection))
            return false;
        g_pages[g_page_count++] = page;
    }
    return true;
}

void hk_pages_restore(void)
{
    while (g_page_count > 0) {
        const opened_page *page = &g_pages[--g_page_count];
        DWORD old;
        VirtualProtect(page->base, HK_PAGE_LEN, page->protection, &old);
    }
}

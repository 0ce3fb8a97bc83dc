// SPDX-License-Identifier: MIT
// Open addressing with linear probing, at most half full. Nothing is ever removed.
#include "intern.h"

#include "format.h"

#include <stdlib.h>
#include <string.h>

void tm_intern_init(tm_intern *t)
{
    *t = (tm_intern){.text = CM_BUF_INIT, .refs = CM_BUF_INIT};
}

void tm_intern_deinit(tm_intern *t)
{
    cm_buf_deinit(&t->text);
    cm_buf_deinit(&t->refs);
    free(t->slots);
    t->slots = NULL;
}

size_t tm_intern_count(const tm_intern *t)
{
    return t->refs.len / sizeof(tm_intern_ref);
}

const tm_intern_ref *tm_intern_get(const tm_intern *t, size_t index)
{
    return (const tm_intern_ref *)(const void *)t->refs.data + index;
}

static uint32_t hash_bytes(const char *text, size_t len) // FNV-1a
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
    return (uint32_t)(hash ^ hash >> 32);
}

static bool grow_slots(tm_intern *t)
{
    size_t count = t->slot_count ? t->slot_count * 2 : 256;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < tm_intern_count(t); i++) {
        size_t at = tm_intern_get(t, i)->hash & (count - 1);
        while (slots[at])
            at = (at + 1) & (count - 1);
        slots[at] = (uint32_t)(i + 1);
    }
    free(t->slots);
    t->slots = slots;
    t->slot_count = count;
    return true;
}

int64_t tm_intern_add(tm_intern *t, const char *text, size_t len)
{
    size_t count = tm_intern_count(t);
    if (count * 2 >= t->slot_count && !grow_slots(t))
        return 0;
    uint32_t hash = hash_bytes(text, len);
    size_t at = hash & (t->slot_count - 1);
    for (; t->slots[at]; at = (at + 1) & (t->slot_count - 1)) {
        const tm_intern_ref *ref = tm_intern_get(t, t->slots[at] - 1);
        if (ref->hash == hash && ref->len == len &&
            memcmp(t->text.data + ref->offset, text, len) == 0)
            return t->slots[at];
    }
    // The reader's limit counts each string's NUL too.
    if (count >= TM_STRINGS_MAX || t->text.len + count + len + 1 > TM_STRINGS_BYTES_MAX)
        return 0;
    tm_intern_ref ref = {t->text.len, (uint32_t)len, hash};
    cm_buf_append(&t->text, text, len);
    cm_buf_append(&t->refs, &ref, sizeof ref);
    if (t->text.failed || t->refs.failed)
        return 0;
    t->slots[at] = (uint32_t)(count + 1);
    return (int64_t)(count + 1);
}

// SPDX-License-Identifier: MIT
// See facts.h. The texts come from firmware and drivers: whatever they hold, a row gets clean UTF-8
// of bounded length.
#include "collector/facts.h"

#include "capture_internal.h"
#include "common/text.h"
#include "common/utf.h"

#include <string.h>

static co_fact *add(co_facts *f, const char *about, int64_t number, const char *name)
{
    if (f->count == CO_FACTS_MAX)
        return NULL;
    co_fact *fact = &f->items[f->count++];
    *fact = (co_fact){.about = about, .name = name, .number = number};
    return fact;
}

// Control characters and runs of blanks become one blank.
static void clean(const char *text, char *out, size_t capacity)
{
    size_t len = strlen(text), pos = 0, used = 0;
    bool blank = false, valid;
    while (pos < len) {
        size_t begin = pos;
        uint32_t code = cm_utf8_take(text, len, &pos, &valid);
        const char *bytes = valid ? text + begin : "\xEF\xBF\xBD";
        size_t count = valid ? pos - begin : 3;
        if (code == ' ' || cm_text_is_control(code)) {
            blank = used > 0;
            continue;
        }
        if (used + blank + count >= capacity)
            break;
        if (blank)
            out[used++] = ' ';
        memcpy(out + used, bytes, count);
        used += count;
        blank = false;
    }
    out[used] = '\0';
}

void co_facts_text(co_facts *f, const char *about, int64_t number, const char *name,
                   const char *text)
{
    char cleaned[CO_FACT_BYTES];
    clean(text, cleaned, sizeof cleaned);
    co_fact *fact = cleaned[0] ? add(f, about, number, name) : NULL;
    if (!fact)
        return;
    fact->is_text = true;
    memcpy(fact->text, cleaned, sizeof cleaned);
}

void co_facts_number(co_facts *f, const char *about, int64_t number, const char *name,
                     int64_t value)
{
    co_fact *fact = add(f, about, number, name);
    if (fact)
        fact->value = value;
}

const co_fact *co_facts_find(const co_facts *f, const char *about, int64_t number, const char *name)
{
    for (size_t i = 0; i < f->count; i++) {
        const co_fact *fact = &f->items[i];
        if (fact->number == number && strcmp(fact->about, about) == 0 &&
            strcmp(fact->name, name) == 0)
            return fact;
    }
    return NULL;
}

void co_capture_facts(co_capture *c, const co_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++) {
        const co_fact *f = &facts->items[i];
        const int64_t row[] = {[TM_fact_time] = (int64_t)c->clock.first.ticks,
                               [TM_fact_about] = co_intern(c, f->about, strlen(f->about)),
                               [TM_fact_number] = f->number,
                               [TM_fact_name] = co_intern(c, f->name, strlen(f->name)),
                               [TM_fact_text] = co_intern(c, f->text, strlen(f->text)),
                               [TM_fact_value] = f->value};
        co_pending_add(&c->pending, TM_KIND_fact, row);
    }
}

// SPDX-License-Identifier: MIT
#include "analysis/machine.h"

#include "analysis_util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX 64 // a file may claim any number

static cm_status add_fact(an_machine *m, const tm_reader *r, const tm_block *b, size_t row)
{
    if (m->count == AN_MAX_FACTS)
        return CM_OK;
    an_fact *facts = an_grow(m->facts, &m->capacity, m->count, sizeof *facts);
    if (!facts)
        return an_no_memory();
    m->facts = facts;
    an_fact *f = &facts[m->count++];
    *f = (an_fact){.number = b->columns[TM_fact_number][row],
                   .value = b->columns[TM_fact_value][row]};
    CM_TRY(an_copy_string(&f->about, r, b->columns[TM_fact_about][row]));
    CM_TRY(an_copy_string(&f->name, r, b->columns[TM_fact_name][row]));
    return an_copy_string(&f->text, r, b->columns[TM_fact_text][row]);
}

cm_status an_machine_add(an_machine *m, const tm_reader *reader, const tm_block *b)
{
    for (size_t row = 0; b->kind == TM_KIND_fact && row < b->row_count; row++)
        CM_TRY(add_fact(m, reader, b, row));
    return CM_OK;
}

void an_machine_deinit(an_machine *m)
{
    for (size_t i = 0; i < m->count; i++) {
        free(m->facts[i].about);
        free(m->facts[i].name);
        free(m->facts[i].text);
    }
    free(m->facts);
    *m = (an_machine){0};
}

static const an_fact *find(const an_machine *m, const char *about, int64_t number, const char *name)
{
    for (size_t i = 0; i < m->count; i++) {
        const an_fact *f = &m->facts[i];
        if (f->number == number && strcmp(f->about, about) == 0 && strcmp(f->name, name) == 0)
            return f;
    }
    return NULL;
}

const char *an_machine_text(const an_machine *m, const char *about, int64_t number,
                            const char *name)
{
    const an_fact *f = find(m, about, number, name);
    return f && f->text[0] ? f->text : NULL;
}

double an_machine_number(const an_machine *m, const char *about, int64_t number, const char *name)
{
    const an_fact *f = find(m, about, number, name);
    return f && !f->text[0] ? (double)f->value : (double)NAN;
}

int64_t an_machine_count(const an_machine *m, const char *about)
{
    int64_t count = 0;
    for (size_t i = 0; i < m->count; i++) {
        const an_fact *f = &m->facts[i];
        if (f->number >= count && f->number < ITEMS_MAX && strcmp(f->about, about) == 0)
            count = f->number + 1;
    }
    return count;
}

static bool is_named(const an_machine *m, const char *about, int64_t number, const char *fact,
                     const char *name)
{
    const char *text = an_machine_text(m, about, number, fact);
    return text && strcmp(text, name) == 0;
}

int64_t an_machine_device(const an_machine *m, const an_accelerator *devices, size_t index)
{
    const an_accelerator *d = &devices[index];
    const char *about = d->is_npu ? "npu" : "gpu";
    size_t before = 0; // measured ones of the same source and name
    for (size_t i = 0; i < index; i++)
        before +=
            strcmp(devices[i].name, d->name) == 0 && strcmp(devices[i].source, d->source) == 0;
    int64_t count = an_machine_count(m, about);
    for (int64_t n = 0; n < count; n++) {
        if (is_named(m, about, n, "adapter", d->name))
            return n;
        if (is_named(m, about, n, "name", d->name) && before-- == 0)
            return n;
    }
    return -1;
}

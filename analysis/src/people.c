// SPDX-License-Identifier: MIT
#include "people.h"

#include "analysis_util.h"

#include <stdlib.h>
#include <string.h>

void an_people_init(an_people *p)
{
    *p = (an_people){0};
    cm_map_init(&p->by_process);
}

void an_people_deinit(an_people *p)
{
    cm_map_deinit(&p->by_process);
    free(p->items);
    *p = (an_people){0};
}

static cm_status add_person(an_people *p, const char *path, const an_person *person)
{
    size_t place;
    if (p->count == AN_MAX_PEOPLE || cm_map_find(&p->by_process, person->process, &place))
        return CM_OK;
    an_person *items = an_grow(p->items, &p->capacity, p->count, sizeof *items);
    if (!items)
        return an_no_memory();
    p->items = items;
    if (!cm_map_put(&p->by_process, person->process, p->count))
        return an_no_memory();
    an_person *n = &items[p->count++];
    *n = *person;
    const char *base = path;
    for (const char *c = path; *c; c++)
        if (*c == '/' || *c == '\\')
            base = c + 1;
    size_t len = strlen(base), most = sizeof n->name - 1;
    if (len > most) // whole characters only
        for (len = most; len > 0 && ((unsigned char)base[len] & 0xc0) == 0x80;)
            len--;
    memcpy(n->name, base, len);
    return CM_OK;
}

cm_status an_people_add(an_people *p, const tm_reader *r, const tm_block *b)
{
    bool followed = b->kind == TM_KIND_process;
    if (!followed && b->kind != TM_KIND_bystander)
        return CM_OK;
    for (size_t i = 0; i < b->row_count; i++) {
        const int64_t *program = b->columns[followed ? TM_process_program : TM_bystander_program];
        const int64_t *pid = b->columns[followed ? TM_process_pid : TM_bystander_pid];
        const int64_t *id = b->columns[followed ? TM_process_process : TM_bystander_process];
        CM_TRY(add_person(p, tm_reader_string(r, program[i]),
                          &(an_person){.process = id[i], .pid = pid[i], .followed = followed}));
    }
    return CM_OK;
}

const an_person *an_people_find(const an_people *p, int64_t process)
{
    size_t place;
    return cm_map_find(&p->by_process, process, &place) ? &p->items[place] : NULL;
}

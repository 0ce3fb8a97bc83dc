// SPDX-License-Identifier: MIT
// Processes of a file by their number in it: names without folders, pids.
#pragma once

#include "analysis/source.h"
#include "common/map.h"

#define AN_MAX_PEOPLE 65536

typedef struct an_person {
    int64_t process, pid;
    bool followed;
    char name[64];
} an_person;

typedef struct an_people {
    an_person *items;
    size_t count, capacity;
    cm_map by_process;
} an_people;

void an_people_init(an_people *p);
void an_people_deinit(an_people *p);

#define AN_PEOPLE_KINDS (TM_BIT(process) | TM_BIT(bystander))
cm_status an_people_add(an_people *p, const tm_reader *reader, const tm_block *block);

const an_person *an_people_find(const an_people *p, int64_t process); // NULL: nobody told

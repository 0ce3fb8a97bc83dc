// SPDX-License-Identifier: MIT
// Which lives a number had, of a process or of a thread: numbers are used again, several events
// tell of the same begin or end, and some are lost.
#pragma once

#include "common/buf.h"
#include "etl_people.h"

// What an event says about a process or thread, until all are there.
typedef struct etl_note {
    uint32_t id, owner;
    int64_t time;
    uint32_t name, command_line;
    int32_t exit_code;
    uint32_t order;
    uint8_t action; // etl_action
} etl_note;

// The notes, in any order, to lives in ascending order of id, then of time.
void co_etl_lives_settle(cm_buf *notes, cm_buf *lives);

// The life of this number at this time; NULL if nobody told of it.
const etl_life *co_etl_lives_find(const cm_buf *lives, uint32_t id, int64_t time);

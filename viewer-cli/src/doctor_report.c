// SPDX-License-Identifier: MIT
// The checks of `ortscope doctor` as a table and as JSON.
#include "doctor.h"

#include "table.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const state_names[] = {"works", "missing", "not here"};

vw_check *vw_check_add(vw_checks *c, const char *name, vw_state state, const char *what, ...)
{
    static vw_check nowhere;
    vw_check *check = c->count < VW_CHECKS_MAX ? &c->items[c->count++] : &nowhere;
    *check = (vw_check){.name = name, .state = state};
    va_list args;
    va_start(args, what);
    vsnprintf(check->what, sizeof check->what, what, args);
    va_end(args);
    return check;
}

void vw_check_fix(vw_check *check, const char *fix, ...)
{
    va_list args;
    va_start(args, fix);
    vsnprintf(check->fix, sizeof check->fix, fix, args);
    va_end(args);
}

bool vw_checks_good(const vw_checks *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->items[i].essential && c->items[i].state != VW_WORKS)
            return false;
    return true;
}

void vw_checks_text(vw_io *io, const vw_checks *c)
{
    static const vw_table_column columns[] = {
        {"source", false, 0}, {"state", false, 0}, {"what", false, 0}};
    vw_table table;
    vw_table_begin(&table, io, "", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < c->count; i++) {
        const vw_check *check = &c->items[i];
        vw_table_text(&table, check->name);
        vw_table_text(&table, state_names[check->state]);
        vw_table_text(&table, check->what);
        if (!check->fix[0])
            continue;
        vw_table_text(&table, "");
        vw_table_text(&table, "");
        vw_table_cell(&table, "-> %s", check->fix);
    }
    vw_table_end(&table);
}

void vw_checks_json(cm_json *j, const vw_checks *c)
{
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (size_t i = 0; i < c->count; i++) {
        const vw_check *check = &c->items[i];
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key(j, "source");
        cm_json_string(j, check->name);
        cm_json_key(j, "state");
        cm_json_string(j, state_names[check->state]);
        cm_json_key(j, "essential");
        cm_json_bool(j, check->essential);
        cm_json_key(j, "what");
        cm_json_string(j, check->what);
        cm_json_key(j, "fix");
        cm_json_string(j, check->fix[0] ? check->fix : NULL);
        cm_json_end(j);
    }
    cm_json_end(j);
}

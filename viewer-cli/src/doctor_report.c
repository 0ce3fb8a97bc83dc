// SPDX-License-Identifier: MIT
// The checks of `ortscope doctor` as a table and as JSON.
#include "doctor.h"

#include "common/text.h"
#include "options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

static int longer(int width, const char *text)
{
    int other = (int)strlen(text);
    return other > width ? other : width;
}

// Names of devices are in it: foreign text.
static void fill_clean(vw_io *io, const char *text, size_t indent, size_t column)
{
    cm_out clean;
    cm_out_init_memory(&clean);
    cm_text_clean(&clean, text, 0);
    vw_fill(io, cm_out_string(&clean), indent, column);
    cm_out_deinit(&clean);
}

void vw_checks_text(vw_io *io, const vw_checks *c)
{
    static const vw_style styles[] = {
        [VW_WORKS] = VW_GOOD, [VW_MISSING] = VW_WARN, [VW_NOT_HERE] = VW_DIM};
    cm_out *out = &io->out;
    int name = longer(0, "source"), state = longer(0, "state");
    for (size_t i = 0; i < c->count; i++) {
        name = longer(name, c->items[i].name);
        state = longer(state, state_names[c->items[i].state]);
    }
    size_t column = (size_t)(name + 2 + state + 2);
    vw_fit_lines(io);
    vw_style_on(io, VW_DIM);
    cm_out_printf(out, "%-*s  %-*s  what", name, "source", state, "state");
    vw_style_off(io, VW_DIM);
    cm_out_char(out, '\n');
    for (size_t i = 0; i < c->count; i++) {
        const vw_check *check = &c->items[i];
        cm_out_printf(out, "%-*s  ", name, check->name);
        vw_style_on(io, styles[check->state]);
        cm_out_printf(out, "%-*s", state, state_names[check->state]);
        vw_style_off(io, styles[check->state]);
        fill_clean(io, check->what, column, column - 2);
        if (check->fix[0]) {
            cm_out_repeat(out, " ", column);
            cm_out_text(out, "-> ");
            fill_clean(io, check->fix, column + 3, column + 3);
        }
    }
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

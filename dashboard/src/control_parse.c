// SPDX-License-Identifier: MIT
// A JSON object without objects and arrays inside: all that control needs. Everything else is
// refused, so that nothing has to be kept or nested.
#include "dashboard/control.h"
#include "json_read.h"

#include <math.h>
#include <string.h>

#define MOST_BYTES 4096u

static const char *const action_names[DA_ACTION_COUNT] = {
    [DA_PAUSE] = "pause", [DA_RESUME] = "resume", [DA_MARK] = "mark", [DA_DETACH] = "detach",
    [DA_RATES] = "rates", [DA_SPEED] = "speed",   [DA_SEEK] = "seek", [DA_ATTACH] = "attach"};

const char *da_action_name(da_action action)
{
    return action < DA_ACTION_COUNT ? action_names[action] : "?";
}

static cm_status broken(void)
{
    return cm_fail(CM_USAGE, "The body must be a JSON object of texts and numbers, of at most "
                             "4 KiB.");
}

static cm_status take_whole(da_json_cursor *c, const char *name, double most, uint32_t *out)
{
    double value;
    if (!da_json_number(c, &value))
        return broken();
    if (!(value >= 1 && value <= most) || value != floor(value))
        return cm_fail(CM_USAGE, "\"%s\" must be a whole number of at least 1.", name);
    *out = (uint32_t)value;
    return CM_OK;
}

static cm_status take_range(da_json_cursor *c, const char *name, double least, double most,
                            double *out)
{
    double value;
    if (!da_json_number(c, &value))
        return broken();
    if (!(value >= least && value <= most))
        return cm_fail(CM_USAGE, "\"%s\" must be between %g and %g.", name, least, most);
    *out = value;
    return CM_OK;
}

static cm_status take_action(da_json_cursor *c, da_control *out, bool *has_action)
{
    char name[40];
    if (!da_json_string(c, name, sizeof name))
        return broken();
    for (int i = 0; i < DA_ACTION_COUNT; i++) {
        if (strcmp(name, action_names[i]) == 0) {
            out->action = (da_action)i;
            *has_action = true;
            return CM_OK;
        }
    }
    return cm_fail(CM_USAGE, "There is no such action; there are pause, resume, mark, detach, "
                             "rates, speed, seek, attach.");
}

static cm_status take_text(da_json_cursor *c, da_control *out)
{
    if (!da_json_string(c, out->text, sizeof out->text))
        return cm_fail(CM_USAGE, "\"text\" must be a text of at most %u bytes.", DA_MARK_BYTES);
    return CM_OK;
}

static cm_status take_member(da_json_cursor *c, da_control *out, bool *has_action)
{
    char key[64];
    if (!da_json_string(c, key, sizeof key) || !da_json_take(c, ':'))
        return broken();
    if (strcmp(key, "action") == 0)
        return take_action(c, out, has_action);
    if (strcmp(key, "text") == 0)
        return take_text(c, out);
    if (strcmp(key, "capture") == 0)
        return take_whole(c, key, 1e6, &out->capture);
    if (strcmp(key, "pid") == 0)
        return take_whole(c, key, 4294967295.0, &out->pid);
    if (strcmp(key, "hz") == 0)
        return take_range(c, key, 1, 60, &out->hz);
    if (strcmp(key, "counters_hz") == 0)
        return take_range(c, key, 1, 1000, &out->counters_hz);
    if (strcmp(key, "speed") == 0)
        return take_range(c, key, 0, 1000, &out->speed);
    if (strcmp(key, "to_s") == 0)
        return take_range(c, key, 0, 1e9, &out->to_s);
    if (strcmp(key, "window_s") == 0)
        return take_range(c, key, 0.1, 60, &out->window_s);
    return da_json_skip_plain(c) ? CM_OK : broken();
}

static cm_status check(const da_control *c)
{
    if (c->action == DA_MARK && !c->text[0])
        return cm_fail(CM_USAGE, "A mark needs a \"text\".");
    if (c->action == DA_RATES && !da_known(c->hz) && !da_known(c->counters_hz))
        return cm_fail(CM_USAGE, "Rates need \"hz\" or \"counters_hz\".");
    if (c->action == DA_SPEED && (!da_known(c->speed) || (c->speed > 0 && c->speed < 0.1)))
        return cm_fail(CM_USAGE, "\"speed\" must be 0, or between 0.1 and 1000.");
    if (c->action == DA_SEEK && !da_known(c->to_s))
        return cm_fail(CM_USAGE, "Seeking needs \"to_s\".");
    if (c->action == DA_ATTACH && !c->pid)
        return cm_fail(CM_USAGE, "Attaching needs a \"pid\".");
    return CM_OK;
}

cm_status da_control_parse(const char *text, size_t len, bool needs_action, da_control *out)
{
    da_json_cursor c = {text, text + len};
    bool has_action = false;
    const double none = (double)NAN;
    *out = (da_control){
        .hz = none, .counters_hz = none, .speed = none, .to_s = none, .window_s = none};
    if (len > MOST_BYTES || !da_json_take(&c, '{'))
        return broken();
    if (!da_json_take(&c, '}')) {
        do
            CM_TRY(take_member(&c, out, &has_action));
        while (da_json_take(&c, ','));
        if (!da_json_take(&c, '}'))
            return broken();
    }
    da_json_blanks(&c);
    if (c.at != c.end)
        return broken();
    if (!needs_action)
        return CM_OK;
    return has_action ? check(out) : cm_fail(CM_USAGE, "The object needs an \"action\".");
}

// SPDX-License-Identifier: MIT
// See qnn.h. The text comes from the target and is not trusted: it is cut, not followed.
#include "qnn.h"

#include "capture_internal.h"
#include "series.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Copies the value of a line "key=..."; empty if there is none.
static void copy_field(const char *fields, size_t len, const char *key, char *out, size_t capacity)
{
    size_t key_len = strlen(key);
    *out = '\0';
    for (const char *at = fields, *end = fields + len; at < end;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end ? line_end : end;
        size_t line = (size_t)(line_end - at);
        if (line > key_len && memcmp(at, key, key_len) == 0 && at[key_len] == '=') {
            snprintf(out, capacity, "%.*s", (int)(line - key_len - 1), at + key_len + 1);
            return;
        }
        at = line_end + 1;
    }
}

bool co_qnn_parse(const char *fields, size_t len, co_qnn_value *out)
{
    static const struct {
        const char *told, *unit;
        int64_t per_unit;
        double factor;
    } units[] = {{"US", "s", 1000000000, 1000}, // QNN's scalars may have decimals
                 {"CYCLES", "cycles", 1, 1},
                 {"BYTES", "B", 1, 1},
                 {"COUNT", "1", 1, 1}};
    co_qnn_value v = {0};
    char number[48], unit[24], *end;
    copy_field(fields, len, "Message", v.name, sizeof v.name);
    copy_field(fields, len, "Value", number, sizeof number);
    copy_field(fields, len, "Unit of Measurement", unit, sizeof unit);
    copy_field(fields, len, "Event Identifier", v.subject, sizeof v.subject);
    for (char *c = v.name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (strcmp(v.subject, "NULL") == 0)
        v.subject[0] = '\0';
    double value = strtod(number, &end);
    if (end == number || *end || !(fabs(value) < 1e15) || !v.name[0])
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(units[i].told, unit) != 0)
            continue;
        v.unit = units[i].unit;
        v.per_unit = units[i].per_unit;
        v.value = (int64_t)floor(value * units[i].factor + 0.5);
        *out = v;
        return true;
    }
    return false;
}

co_counter co_qnn_lane(const co_qnn_value *v, uint32_t process)
{
    co_counter what = {.source = "qnn",
                       .name = "qnn",
                       .unit = v->unit,
                       .per_unit = v->per_unit,
                       .about = CO_ABOUT_DEVICE,
                       .process = process,
                       .number = -1};
    snprintf(what.subject, sizeof what.subject, "%s%s%.80s", v->name, v->subject[0] ? ": " : "",
             v->subject);
    return what;
}

// The lane's number, with its counter row on first sight; 0 if there are too many.
static uint32_t lane_of(co_capture *c, const co_counter *what, uint64_t ticks)
{
    int64_t key = co_series_key(what);
    size_t at;
    if (cm_map_find(&c->qnn_lanes, key, &at))
        return CO_QNN_FIRST_ID + (uint32_t)at;
    if (c->qnn_lanes.count == CO_QNN_LANES || !cm_map_put(&c->qnn_lanes, key, c->qnn_lanes.count))
        return 0;
    uint32_t id = CO_QNN_FIRST_ID + (uint32_t)c->qnn_lanes.count - 1;
    co_readings_counter(&c->qnn, id, ticks, what);
    return id;
}

void co_qnn_event(co_capture *c, uint32_t process, uint64_t ticks, const char *fields, size_t len)
{
    co_qnn_value v;
    if (!co_qnn_parse(fields, len, &v))
        return;
    co_counter what = co_qnn_lane(&v, process);
    uint32_t id = lane_of(c, &what, ticks);
    if (id)
        co_readings_sample(&c->qnn, id, ticks, true, v.value);
    else
        c->unnumbered++;
    co_capture_readings(c, &c->qnn);
}

// SPDX-License-Identifier: MIT
// {"partialSuccess": {"rejectedDataPoints": "3", "errorMessage": "why"}} after a success,
// {"code": 3, "message": "why"} after a failure. 64-bit numbers come as texts or as numbers.
#include "http_answer.h"
#include "json_read.h"

#include <string.h>

typedef bool (*take_member)(da_json_cursor *c, const char *key, da_otlp_answer *out);

static bool walk_object(da_json_cursor *c, take_member take, da_otlp_answer *out)
{
    char key[40];
    if (!da_json_take(c, '{'))
        return da_json_skip(c); // null, or none of our business
    if (da_json_take(c, '}'))
        return true;
    do
        if (!da_json_string_cut(c, key, sizeof key) || !da_json_take(c, ':') || !take(c, key, out))
            return false;
    while (da_json_take(c, ','));
    return da_json_take(c, '}');
}

static bool take_count(da_json_cursor *c, uint64_t *out)
{
    char digits[24] = "";
    double value = 0;
    bool quoted = da_json_take(c, '"');
    if (quoted)
        c->at--;
    if (quoted ? !da_json_string_cut(c, digits, sizeof digits) : !da_json_number(c, &value))
        return false;
    da_json_cursor inside = {digits, digits + strlen(digits)};
    if (quoted && !da_json_number(&inside, &value))
        value = 0;
    *out = value > 0 && value < 1e15 ? (uint64_t)value : 0;
    return true;
}

static bool of_partial_success(da_json_cursor *c, const char *key, da_otlp_answer *out)
{
    if (strcmp(key, "rejectedDataPoints") == 0)
        return take_count(c, &out->rejected_points);
    if (strcmp(key, "errorMessage") == 0)
        return da_json_string_cut(c, out->message, sizeof out->message);
    return da_json_skip(c);
}

static bool of_answer(da_json_cursor *c, const char *key, da_otlp_answer *out)
{
    if (strcmp(key, "partialSuccess") == 0)
        return walk_object(c, of_partial_success, out);
    if (strcmp(key, "message") == 0)
        return da_json_string_cut(c, out->message, sizeof out->message);
    return da_json_skip(c);
}

void da_otlp_answer_parse(const char *json, size_t len, da_otlp_answer *out)
{
    da_json_cursor c = {json, json + len};
    *out = (da_otlp_answer){0};
    if (!walk_object(&c, of_answer, out))
        *out = (da_otlp_answer){0};
}

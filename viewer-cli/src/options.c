// SPDX-License-Identifier: MIT
// See options.h.
#include "options.h"

#include "common/text.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const char *vw_nearest(const char *word, const void *names, size_t count, size_t stride)
{
    const char *best = NULL;
    size_t best_distance = strlen(word) / 3 + 2; // that many edits are too many
    for (size_t i = 0; i < count; i++) {
        const char *name;
        memcpy(&name, (const char *)names + i * stride, sizeof name);
        size_t distance = cm_edit_distance(word, name);
        if (distance < best_distance) {
            best = name;
            best_distance = distance;
        }
    }
    return best;
}

const vw_option vw_common_options[] = {
    {"color", 0, VW_TEXT, offsetof(vw_common, color), "auto|always|never",
     "colours: on a terminal (auto, unless NO_COLOR is set), always, never"},
    {"ascii", 0, VW_FLAG, offsetof(vw_common, ascii), NULL, "draw without Unicode characters"},
};
const size_t vw_common_option_count = sizeof vw_common_options / sizeof *vw_common_options;

static const vw_option *find_option(const vw_option *options, size_t count, const char *name,
                                    size_t len)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(options[i].name) == len && memcmp(options[i].name, name, len) == 0)
            return &options[i];
    return NULL;
}

static const vw_option *find_letter(const vw_command *c, char letter)
{
    for (size_t i = 0; i < c->option_count; i++)
        if (c->options[i].letter == letter)
            return &c->options[i];
    return NULL;
}

#define MOST_OPTIONS 64

static const char *nearest_option(const vw_command *c, const char *word)
{
    const char *names[MOST_OPTIONS] = {"help"};
    size_t count = 1;
    for (size_t i = 0; i < c->option_count && count < MOST_OPTIONS; i++)
        names[count++] = c->options[i].name;
    for (size_t i = 0; i < vw_common_option_count && count < MOST_OPTIONS; i++)
        names[count++] = vw_common_options[i].name;
    return vw_nearest(word, names, count, sizeof *names);
}

static cm_status unknown_option(const vw_command *c, const char *given, size_t len)
{
    char word[64] = "";
    const char *near = NULL;
    if (len < sizeof word) {
        memcpy(word, given, len);
        near = nearest_option(c, word + strspn(word, "-"));
    }
    return cm_fail(CM_USAGE,
                   "`ortscope %s` has no option %.*s%s%s%s; `ortscope help %s` lists its options.",
                   c->name, (int)len, given, near ? " (did you mean --" : "", near ? near : "",
                   near ? "?)" : "", c->name);
}

static bool parse_count(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < 0 || text[0] == '+' || text[0] == ' ')
        return false;
    *out = value;
    return true;
}

bool vw_parse_duration(const char *text, double *out)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1},      {"s", 1},  {"ms", 1e-3}, {"us", 1e-6},
                 {"ns", 1e-9}, {"m", 60}, {"h", 3600}};
    if (strspn(text, "0123456789.") == 0) // keeps out signs, "inf" and hexadecimal numbers
        return false;
    char *end;
    double value = strtod(text, &end);
    if (end == text || !(value < 1e12) || strcspn(text, "xXeE") < (size_t)(end - text))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].unit) == 0) {
            *out = value * units[i].seconds;
            return true;
        }
    }
    return false;
}

static cm_status set_value(const vw_command *c, const vw_option *o, const char *value, void *args)
{
    void *field = (char *)args + o->offset;
    vw_number number = {.given = true};
    switch (o->type) {
    case VW_FLAG:
        *(bool *)field = true;
        return CM_OK;
    case VW_TEXT:
    case VW_WORDS:
    case VW_FACTOR:
        *(const char **)field = value;
        return CM_OK;
    case VW_LIST: {
        vw_list *list = field;
        if (list->count == VW_LIST_MOST)
            return cm_fail(CM_USAGE, "`ortscope %s --%s` can be given %d times at most.", c->name,
                           o->name, VW_LIST_MOST);
        list->texts[list->count++] = value;
        return CM_OK;
    }
    case VW_COUNT:
        if (!parse_count(value, &number.count))
            return cm_fail(CM_USAGE,
                           "`ortscope %s --%s` needs a whole number of at least 0, not "
                           "\"%s\".",
                           c->name, o->name, value);
        break;
    case VW_DURATION:
        if (!vw_parse_duration(value, &number.seconds))
            return cm_fail(CM_USAGE,
                           "`ortscope %s --%s` needs seconds (1.5) or a time with a unit "
                           "(250ms, 2m), not \"%s\".",
                           c->name, o->name, value);
        break;
    }
    *(vw_number *)field = number;
    return CM_OK;
}

static bool is_number(const char *text)
{
    return text[0] && strspn(text, "0123456789.") == strlen(text);
}

// One option and, where it stands apart, its value. *index is that of the option and ends at the
// last argument used.
static cm_status parse_option(const vw_command *c, int argc, char **argv, int *index, void *args,
                              vw_common *common)
{
    const char *given = argv[*index], *value = NULL;
    const vw_option *o;
    size_t len = strlen(given);
    if (given[1] == '-') {
        const char *equals = strchr(given, '=');
        len = equals ? (size_t)(equals - given) : len;
        value = equals ? equals + 1 : NULL;
        o = find_option(c->options, c->option_count, given + 2, len - 2);
        if (!o) {
            o = find_option(vw_common_options, vw_common_option_count, given + 2, len - 2);
            args = common;
        }
    } else {
        o = find_letter(c, given[1]);
        if (o && given[2] && o->type == VW_FLAG)
            o = NULL; // letters are not joined
        value = given[2] ? given + 2 + (given[2] == '=') : NULL;
    }
    if (!o)
        return unknown_option(c, given, len);
    if (o->type == VW_FLAG && value)
        return cm_fail(CM_USAGE, "`ortscope %s --%s` takes no value.", c->name, o->name);
    if (o->type == VW_WORDS && !value && (*index + 1 >= argc || argv[*index + 1][0] == '-'))
        value = "";
    if (o->type == VW_FACTOR && !value && (*index + 1 >= argc || !is_number(argv[*index + 1])))
        value = "";
    if (o->type != VW_FLAG && !value) {
        if (*index + 1 >= argc)
            return cm_fail(CM_USAGE, "`ortscope %s --%s` needs a value: --%s %s.", c->name, o->name,
                           o->name, o->value);
        value = argv[++*index];
    }
    return set_value(c, o, value, args);
}

static cm_status check_operands(const vw_command *c, const vw_parsed *p)
{
    if (p->operand_count < c->min_operands)
        return cm_fail(CM_USAGE,
                       "Something is missing: ortscope %s %s. `ortscope help %s` tells "
                       "more.",
                       c->name, c->usage, c->name);
    if (p->operand_count > c->max_operands)
        return cm_fail(CM_USAGE, "\"%s\" is one argument too many: ortscope %s %s.",
                       p->operands[c->max_operands], c->name, c->usage);
    return CM_OK;
}

cm_status vw_parse(const vw_command *command, int argc, char **argv, void *args, vw_parsed *out)
{
    vw_parsed parsed = {.operands = argv};
    bool options_ended = command->raw;
    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i];
        if (options_ended || arg[0] != '-' || !arg[1]) {
            argv[parsed.operand_count++] = argv[i];
            options_ended = options_ended || command->operands_end_options;
        } else if (strcmp(arg, "--") == 0) {
            options_ended = true;
        } else if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            parsed.help = true;
            break;
        } else {
            CM_TRY(parse_option(command, argc, argv, &i, args, &parsed.common));
        }
    }
    if (!parsed.help)
        CM_TRY(check_operands(command, &parsed));
    *out = parsed;
    return CM_OK;
}

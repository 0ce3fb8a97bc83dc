// SPDX-License-Identifier: MIT
// Names, bars and JSON fields that everything about operators shares (see op_view.h).
#include "common/text.h"
#include "op_view.h"

#include <stdio.h>
#include <string.h>

vw_short_name vw_provider_name(const char *provider)
{
    static const char suffix[] = "ExecutionProvider";
    vw_short_name name;
    size_t len = strlen(provider), suffix_len = sizeof suffix - 1;
    if (len > suffix_len && strcmp(provider + len - suffix_len, suffix) == 0)
        len -= suffix_len;
    snprintf(name.text, sizeof name.text, "%.*s", (int)(len < 63 ? len : 63), provider);
    if (len == 0)
        strcpy(name.text, "-");
    return name;
}

vw_short_name vw_byte_text(double bytes)
{
    vw_short_name t;
    cm_format_bytes(t.text, sizeof t.text, bytes < 1e19 ? (uint64_t)(bytes + 0.5) : UINT64_MAX);
    return t;
}

void vw_op_type_name(cm_out *out, const char *op_type, const char *domain)
{
    static const char microsoft[] = "com.microsoft.";
    size_t len = sizeof microsoft - 1;
    cm_text_clean(out, op_type[0] ? op_type : "(not recorded)", 40);
    if (!domain[0] || strcmp(domain, "ai.onnx") == 0)
        return;
    if (strcmp(domain, "com.microsoft") == 0)
        domain = "microsoft";
    else if (strncmp(domain, microsoft, len) == 0)
        domain += len;
    cm_out_text(out, " (");
    cm_text_clean(out, domain, 30);
    cm_out_text(out, ")");
}

bool vw_ops_kept(const an_ops *ops, char *out, size_t capacity)
{
    int64_t value;
    char time[32];
    switch (an_ops_kept(ops, &value)) {
    case AN_KEPT_EVERY:
        snprintf(out, capacity, "one in %lld", (long long)value);
        return true;
    case AN_KEPT_LONGER:
        cm_format_ns(time, sizeof time, (double)value);
        snprintf(out, capacity, "slower than %s", time);
        return true;
    case AN_KEPT_SLOWEST:
        snprintf(out, capacity, "the slowest %g %%", (double)value / 1e4);
        return true;
    case AN_KEPT_ALL:
    case AN_KEPT_NONE:
        break;
    }
    return false;
}

vw_runless_name vw_runless_ops(uint64_t count, const char *where)
{
    vw_runless_name t;
    char number[32];
    bool one = count == 1;
    cm_format_count(number, sizeof number, count);
    snprintf(t.text, sizeof t.text, "%s execution%s of %s%s: which run %s to is not known", number,
             one ? "" : "s", one ? "an operator" : "operators", where,
             one ? "it belongs" : "they belong");
    return t;
}

void vw_json_op_type(cm_json *j, const char *op_type, const char *domain)
{
    an_op_type t;
    an_op_type_split(op_type, domain, &t);
    cm_json_key_text(j, "op_type", t.type);
    cm_json_key_text(j, "op_type_source", t.source);
    cm_json_key_text(j, "domain", t.domain);
}

void vw_json_domain(cm_json *j, const char *domain, const char *op_type)
{
    an_op_type t;
    an_op_type_split(op_type, domain, &t);
    cm_json_key_text(j, "domain", t.domain);
}

const char *vw_op_by_name(an_op_by by)
{
    static const char *const names[] = {"node", "type", "provider", "thread"};
    return names[by];
}

const char *vw_op_sort_name(an_op_sort sort)
{
    static const char *const names[] = {"self", "total", "mean",     "calls",
                                        "max",  "name",  "variation"};
    return names[sort];
}

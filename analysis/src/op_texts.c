// SPDX-License-Identifier: MIT
// The texts of kernels, copied once however many share them, and what a kernel's class tells of its
// type where nothing else does. A class may serve several types, so such a type always says that it
// is one: it never meets those that the graph tells.
#include "analysis_util.h"
#include "ops_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool an_op_type_is_by_class(const char *op_type)
{
    size_t len = strlen(op_type), mark = strlen(AN_BY_CLASS);
    return len > mark && strcmp(op_type + len - mark, AN_BY_CLASS) == 0;
}

// Of templates the hook leaves the decorated name, which begins with the innermost one:
// ".?AV?$MatMul@M@onnxruntime@@".
an_op_type_text an_op_type_by_class(const char *class_name)
{
    an_op_type_text type = {""};
    size_t len;
    if (strncmp(class_name, ".?A", 3) == 0 && class_name[3]) {
        class_name += 4;
        if (strncmp(class_name, "?$", 2) == 0)
            class_name += 2;
        len = strcspn(class_name, "@");
    } else {
        for (const char *next; (next = strstr(class_name, "::")) != NULL;)
            class_name = next + 2;
        len = strlen(class_name);
    }
    size_t most = sizeof type.text - sizeof AN_BY_CLASS;
    if (len > 0)
        snprintf(type.text, sizeof type.text, "%.*s" AN_BY_CLASS, (int)(len < most ? len : most),
                 class_name);
    return type;
}

const char *an_op_type_shown(const char *op_type, const char *class_name, an_op_type_text *scratch)
{
    if (op_type[0])
        return op_type;
    *scratch = an_op_type_by_class(class_name);
    return scratch->text;
}

void an_op_type_split(const char *op_type, const char *domain, an_op_type *out)
{
    bool by_class = an_op_type_is_by_class(op_type);
    out->type = op_type;
    out->source = op_type[0] ? by_class ? "class" : "graph" : "";
    out->domain = domain[0] ? domain : op_type[0] && !by_class ? "ai.onnx" : "";
    if (!by_class)
        return;
    size_t len = strlen(op_type) - strlen(AN_BY_CLASS), most = sizeof out->scratch.text - 1;
    snprintf(out->scratch.text, sizeof out->scratch.text, "%.*s", (int)(len < most ? len : most),
             op_type);
    out->type = out->scratch.text;
}

static cm_status add_text(an_ops *o, cm_map *by_id, int64_t id, char *text, size_t *out)
{
    char **texts = an_grow(o->texts, &o->text_capacity, o->text_count, sizeof *texts);
    if (!texts) {
        free(text);
        return an_no_memory();
    }
    o->texts = texts;
    *out = o->text_count;
    texts[o->text_count++] = text;
    return cm_map_put(by_id, id, *out) ? CM_OK : an_no_memory();
}

cm_status an_ops_copy_text(an_ops *o, const tm_reader *reader, int64_t id, const char **out)
{
    size_t at;
    char *copy = NULL;
    *out = "";
    if (id == 0)
        return CM_OK;
    if (!cm_map_find(&o->text_by_id, id, &at)) {
        CM_TRY(an_copy_string(&copy, reader, id));
        CM_TRY(add_text(o, &o->text_by_id, id, copy, &at));
    }
    *out = o->texts[at];
    return CM_OK;
}

cm_status an_ops_copy_type(an_ops *o, const tm_reader *reader, int64_t op_type, int64_t class_id,
                           const char **out)
{
    size_t at;
    CM_TRY(an_ops_copy_text(o, reader, op_type, out));
    if ((*out)[0] || class_id == 0)
        return CM_OK;
    if (!cm_map_find(&o->type_by_class, class_id, &at)) {
        an_op_type_text type = an_op_type_by_class(tm_reader_string(reader, class_id));
        char *copy = malloc(sizeof type.text);
        if (!copy)
            return an_no_memory();
        memcpy(copy, type.text, sizeof type.text);
        CM_TRY(add_text(o, &o->type_by_class, class_id, copy, &at));
    }
    *out = o->texts[at];
    return CM_OK;
}

// SPDX-License-Identifier: MIT
// `ortscope list`: the processes that use ONNX Runtime, and whether they can be attached. Windows
// only.
#include "commands.h"
#include "common/json.h"
#include "process_view.h"
#include "table.h"

#include <stddef.h>

typedef struct list_args {
    bool all, json;
} list_args;

typedef struct listing {
    const list_args *args;
    vw_table table;
    cm_json json;
    unsigned seen; // processes at all
    unsigned listed;
} listing;

static const char *bits_of(uint16_t machine)
{
    switch (machine) {
    case 0x8664:
        return "64";
    case 0x14c:
        return "32";
    case 0xaa64:
        return "ARM64";
    default:
        return "?";
    }
}

static void attach_cell(vw_table *t, const inj_process *p)
{
    if (p->attached)
        vw_table_cell(t, "no: ortscope with PID %u is attached", (unsigned)p->collector_pid);
    else if (p->can_attach == CM_OK)
        vw_table_text(t, "yes");
    else
        vw_table_cell(t, "no: %s", p->why_not[0] ? p->why_not : cm_status_name(p->can_attach));
}

static void list_as_text(vw_table *t, const inj_process *p)
{
    vw_table_cell(t, "%u", (unsigned)p->pid);
    vw_table_text(t, p->name);
    vw_table_text(t, bits_of(p->machine));
    vw_table_text(t, p->ort_version[0] ? p->ort_version : p->ort_module[0] ? "unknown" : "-");
    attach_cell(t, p);
    vw_table_text(t, p->ort_module[0] ? p->ort_module : "-");
}

static void list_as_json(cm_json *j, const inj_process *p)
{
    const char *bits = bits_of(p->machine);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_uint(j, "pid", p->pid);
    cm_json_key_uint(j, "parent_pid", p->parent_pid);
    cm_json_key_text(j, "name", p->name);
    cm_json_key_text(j, "machine",
                     p->machine == 0x8664  ? "x64"
                     : p->machine == 0x14c ? "x86"
                     : bits[0] == '?'      ? ""
                                           : bits);
    vw_process_json(j, p);
    cm_json_end(j);
}

static bool list_process(void *context, const inj_process *p)
{
    listing *l = context;
    l->seen++;
    if (!l->args->all && !p->ort_module[0])
        return true;
    l->listed++;
    if (l->args->json)
        list_as_json(&l->json, p);
    else
        list_as_text(&l->table, p);
    return true;
}

static int run_list(vw_io *io, const void *args, int operand_count, char **operands)
{
    (void)operand_count;
    (void)operands;
    static const vw_table_column columns[] = {{"PID", true, 0},      {"name", false, 40},
                                              {"bits", false, 0},    {"ORT", false, 0},
                                              {"attach", false, 80}, {"module", false, 200}};
    listing l = {.args = args};
    vw_table_begin(&l.table, io, "", columns, sizeof columns / sizeof *columns);
    if (!l.args->json)
        vw_fit_lines(io);
    if (l.args->json) {
        cm_json_init(&l.json, &io->out);
        cm_json_begin_object(&l.json, CM_JSON_INDENTED);
        cm_json_key(&l.json, "schema_version");
        cm_json_int(&l.json, 1);
        cm_json_key(&l.json, "processes");
        cm_json_begin_array(&l.json, CM_JSON_INDENTED);
    }
    cm_status status = inj_list(list_process, &l);
    if (l.args->json) {
        cm_json_end(&l.json);
        cm_json_end(&l.json);
    }
    vw_table_end(&l.table);
    if (status != CM_OK)
        return vw_failure(status);
    cm_out_flush(&io->out);
    if (l.listed == 0 && !l.args->json)
        vw_message("None of the %u processes that can be seen uses ONNX Runtime; `ortscope list "
                   "--all` shows them.",
                   l.seen);
    return 0;
}

static const vw_option list_options[] = {
    {"all", 'a', VW_FLAG, offsetof(list_args, all), NULL, "also processes without ONNX Runtime"},
    {"json", 0, VW_FLAG, offsetof(list_args, json), NULL, "print one JSON document"},
};

const vw_command vw_command_list = {
    .name = "list",
    .one_line = "Lists the processes that use ONNX Runtime.",
    .usage = "[options]",
    .examples = "ortscope list\n"
                "ortscope list --json",
    .options = list_options,
    .option_count = sizeof list_options / sizeof *list_options,
    .args_size = sizeof(list_args),
    .run = run_list,
};

// SPDX-License-Identifier: MIT
// `ortscope doctor`: every source, whether it works here, and what makes it work. Windows only.
#include "commands.h"
#include "doctor.h"
#include "injector/injector.h"
#include "table.h"

#include <stddef.h>
#include <stdio.h>

#define PROGRAMS_MAX 64u

typedef struct doctor_args {
    bool json;
} doctor_args;

typedef struct programs {
    inj_process items[PROGRAMS_MAX];
    size_t count, seen;
} programs;

static bool note_program(void *context, const inj_process *p)
{
    programs *all = context;
    all->seen++;
    if (p->ort_module[0] && all->count < PROGRAMS_MAX)
        all->items[all->count++] = *p;
    return true;
}

// Programs with ONNX Runtime, those that can be attached first in number.
static void check_programs(vw_checks *c, programs *all)
{
    cm_status status = inj_list(note_program, all);
    if (status != CM_OK) {
        vw_check_add(c, "programs", VW_MISSING, "%s", cm_error_text(status));
        return;
    }
    vw_check *check =
        vw_check_add(c, "programs", VW_WORKS, "%zu of %zu processes use ONNX Runtime now",
                     all->count, all->seen);
    if (all->count)
        vw_check_fix(check, "ortscope list");
    else
        vw_check_fix(check, "ortscope run -- program.exe starts one under the profiler");
}

static void write_json(vw_io *io, const vw_checks *c, const programs *all)
{
    cm_json json, *j = &json;
    cm_json_init(j, &io->out);
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key(j, "schema_version");
    cm_json_int(j, 1);
    cm_json_key(j, "ortscope_version");
    cm_json_string(j, ORTSCOPE_VERSION);
    cm_json_key(j, "good");
    cm_json_bool(j, vw_checks_good(c));
    cm_json_key(j, "sources");
    vw_checks_json(j, c);
    cm_json_key(j, "programs");
    cm_json_begin_array(j, all->count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (size_t i = 0; i < all->count; i++) {
        const inj_process *p = &all->items[i];
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key(j, "pid");
        cm_json_uint(j, p->pid);
        cm_json_key(j, "name");
        cm_json_string(j, p->name);
        cm_json_key(j, "ort_version");
        cm_json_string(j, p->ort_version[0] ? p->ort_version : NULL);
        cm_json_key(j, "can_attach");
        cm_json_bool(j, p->can_attach == CM_OK && !p->attached);
        cm_json_end(j);
    }
    cm_json_end(j);
    cm_json_end(j);
}

static int run_doctor(vw_io *io, const void *args, int operand_count, char **operands)
{
    static vw_checks checks; // these are too large for the stack
    static programs all;
    static co_facts facts;
    static co_probe probe;
    const doctor_args *a = args;
    vw_check_way_in(&checks);
    if (operand_count)
        vw_check_target(&checks, operands[0]);
    check_programs(&checks, &all);
    co_facts_gather(&facts);
    co_probe_run(&probe);
    vw_check_counters(&checks, &probe, &facts);
    vw_check_etw(&checks, &facts);
    vw_check_surroundings(&checks, &facts, io);
    if (a->json)
        write_json(io, &checks, &all);
    else
        vw_checks_text(io, &checks);
    return vw_checks_good(&checks) ? 0 : 1;
}

static const vw_option doctor_options[] = {
    {"json", 0, VW_FLAG, offsetof(doctor_args, json), NULL, "print one JSON document"},
};

const vw_command vw_command_doctor = {
    .name = "doctor",
    .one_line = "Says which sources work here, and what makes the others work.",
    .usage = "[options] [PID|NAME]",
    .details =
        "Looks at everything that a recording can use: the way into programs, operators, ORT's\n"
        "events, counters of processes, GPUs, NPUs, energy and heat, event tracing, the folder "
        "for\n"
        "the output, the clock. Each one works, is missing (the line below says what makes it\n"
        "work) or is not here: the machine has no such device. With a PID or a name: whether that\n"
        "process can be attached, and why not. Changes nothing.\n"
        "\n"
        "Ends with 0 if a recording is possible (injection, output, the process that was named),\n"
        "else with 1.",
    .examples = "ortscope doctor\n"
                "ortscope doctor app.exe  # can this one be attached?\n"
                "ortscope doctor --json",
    .options = doctor_options,
    .option_count = sizeof doctor_options / sizeof *doctor_options,
    .args_size = sizeof(doctor_args),
    .max_operands = 1,
    .run = run_doctor,
};

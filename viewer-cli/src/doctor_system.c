// SPDX-License-Identifier: MIT
// What `ortscope doctor` asks Windows itself: the way in, the folder for the output, the clock, the
// console. Nothing is changed.
#include "doctor.h"

#include "collector/clock.h"
#include "common/os.h"
#include "common/utf.h"
#include "injector/injector.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <windows.h>

#define LONGEST_NAME 64u // of a file that we make: ortscope-PROGRAM-PID.ortl

// -------------------------------------------------------------------------------------- the way in

void vw_check_way_in(vw_checks *c)
{
    char path[1024] = "";
    cm_status status = inj_check_hook(path, sizeof path);
    bool works = status == CM_OK;
    vw_check *check = vw_check_add(c, "injection", works ? VW_WORKS : VW_MISSING, "%s",
                                   works ? path : cm_error_text(status));
    check->essential = true;
    if (!works)
        vw_check_fix(check, "put ortscope.exe and ortscope_hook.dll of one release side by side");
    inj_rights rights;
    inj_own_rights(&rights);
    if (rights.elevated && rights.can_debug)
        vw_check_add(c, "rights", VW_WORKS,
                     "administrator with SeDebugPrivilege: all but protected processes");
    else
        vw_check_fix(vw_check_add(c, "rights", VW_WORKS, "programs of this user"),
                     "for those of others and of administrators: start ortscope in a prompt of an "
                     "administrator");
    static const char *const inside[][2] = {
        {"operators",
         "every kernel of ONNX Runtime 1.15 and later, in the program itself; no rights "
         "needed"},
        {"ORT's events", "ONNX Runtime 1.17 and later, in the program itself; no rights needed"}};
    for (size_t i = 0; i < 2; i++)
        vw_check_add(c, inside[i][0], works ? VW_WORKS : VW_MISSING, "%s",
                     works ? inside[i][1] : "needs the injection");
}

void vw_check_target(vw_checks *c, const char *target)
{
    uint32_t pid;
    inj_process p = {0};
    cm_status status = inj_resolve(target, &pid);
    if (status == CM_OK)
        status = inj_check_target(pid, &p);
    vw_check *check;
    if (status != CM_OK)
        check = vw_check_add(c, "target", VW_MISSING, "%s", cm_error_text(status));
    else if (p.ort_module[0])
        check = vw_check_add(c, "target", VW_WORKS, "process %u (%s), ONNX Runtime %s: %s",
                             (unsigned)p.pid, p.name,
                             p.ort_version[0] ? p.ort_version : "of unknown version", p.ort_module);
    else
        check = vw_check_add(c, "target", VW_WORKS,
                             "process %u (%s); no ONNX Runtime is in it yet, it will be seen when "
                             "it comes",
                             (unsigned)p.pid, p.name);
    check->essential = true;
    if (status == CM_OK)
        vw_check_fix(check, "ortscope attach %u", (unsigned)pid);
}

// ------------------------------------------------------------------------------------ surroundings

static void current_folder(char *out, size_t capacity)
{
    wchar_t wide[4096];
    DWORD len = GetCurrentDirectoryW(4096, wide);
    cm_utf16_to_utf8((const uint16_t *)wide, len < 4096 ? len : 0, out, capacity);
}

static void check_output(vw_checks *c)
{
    char folder[480], name[LONGEST_NAME];
    current_folder(folder, sizeof folder);
    snprintf(name, sizeof name, "ortscope-doctor-%lu.ortl", GetCurrentProcessId());
    cm_status status = cm_file_can_create(name);
    vw_check *check = vw_check_add(c, "output", status == CM_OK ? VW_WORKS : VW_MISSING, "%s",
                                   status == CM_OK ? folder : cm_error_text(status));
    check->essential = true;
    if (status != CM_OK)
        vw_check_fix(check, "go to a folder of your own, or name a file there with -o");
}

// By the system's limit for programs that do not ask for more.
static void check_paths(vw_checks *c)
{
    char folder[480];
    current_folder(folder, sizeof folder);
    size_t chars = cm_utf8_to_utf16(folder, CM_UTF_NUL, NULL, 0);
    if (chars + LONGEST_NAME < MAX_PATH)
        vw_check_add(c, "paths", VW_WORKS, "%zu of %d characters are left in this folder",
                     MAX_PATH - 1 - chars, MAX_PATH - 1);
    else
        vw_check_fix(vw_check_add(c, "paths", VW_MISSING,
                                  "this folder's path has %zu of at most %d characters", chars,
                                  MAX_PATH - 1),
                     "record in a folder with a shorter path (-o)");
}

static double rate(const co_anchor *from, const co_anchor *to)
{
    return (double)(to->ticks - from->ticks) / (double)(to->qpc_ns - from->qpc_ns);
}

// The state follows what the processor says; what was measured on a busy machine is only told.
static void check_clock(vw_checks *c, const co_facts *facts)
{
    const co_fact *steady = co_facts_find(facts, "processor", CO_FACT_ONLY, "steady_ticks");
    const co_fact *qpc = co_facts_find(facts, "clock", CO_FACT_ONLY, "qpc_hz");
    bool works = steady && steady->value;
    co_anchor anchors[3];
    for (int i = 0; i < 3; i++) {
        anchors[i] = co_anchor_now();
        if (i < 2)
            cm_sleep_ms(100);
    }
    double first = rate(&anchors[0], &anchors[1]), second = rate(&anchors[1], &anchors[2]);
    vw_check *check =
        vw_check_add(c, "clock", works ? VW_WORKS : VW_MISSING,
                     "ticks %s at %.1f MHz, QPC at %.3f MHz; they agreed within %.0f ppm over two "
                     "spans of 0.1 s",
                     works ? "pass evenly" : "may change their pace", first * 1000,
                     qpc ? (double)qpc->value / 1e6 : 0.0, fabs(second / first - 1) * 1e6);
    if (!works)
        vw_check_fix(check, "in a virtual machine: let it have the invariant TSC; times are "
                            "corrected five times a second meanwhile");
}

static void check_console(vw_checks *c, const vw_io *io)
{
    if (!io->is_terminal)
        vw_check_add(c, "console", VW_WORKS, "output goes into a file or pipe, as UTF-8");
    else if (io->unicode)
        vw_check_add(c, "console", VW_WORKS, "UTF-8%s", io->color ? ", colours" : "");
    else
        vw_check_fix(
            vw_check_add(c, "console", VW_MISSING, "it does not show UTF-8; ASCII is used"),
            "chcp 65001, or Windows Terminal");
}

void vw_check_surroundings(vw_checks *c, const co_facts *facts, const vw_io *io)
{
    check_output(c);
    check_paths(c);
    check_clock(c, facts);
    check_console(c, io);
}

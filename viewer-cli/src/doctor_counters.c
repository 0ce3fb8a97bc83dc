// SPDX-License-Identifier: MIT
// What the probe of the counters means for `ortscope doctor`: decides from what was found, asks
// nothing, so that every machine can be tested on any.
#include "doctor.h"

#include <stdio.h>
#include <string.h>

// timeline/kinds.h: counter.about
enum { MACHINE, PROCESS, THREAD, CORE, DEVICE };

#define LIST_BYTES 400u

static bool is_wine(const co_facts *f)
{
    return co_facts_find(f, "machine", CO_FACT_ONLY, "wine") != NULL;
}

static const char *first_device(const co_facts *f, const char *about)
{
    const co_fact *name = co_facts_find(f, about, 0, "name");
    return name ? name->text : NULL;
}

static void append(char *list, const char *text)
{
    size_t len = strlen(list);
    snprintf(list + len, LIST_BYTES - len, "%s%s", len ? ", " : "", text);
}

static bool is_known(const co_probe *p, const char *name, int about)
{
    for (size_t i = 0; i < p->item_count; i++)
        if (p->items[i].about == about && p->items[i].known && strcmp(p->items[i].name, name) == 0)
            return true;
    return false;
}

// Names of counters that exist and have no value, each once; sources that tell the same make up for
// each other.
static void list_unknown(const co_probe *p, int about, char *list)
{
    list[0] = '\0';
    for (size_t i = 0; i < p->item_count; i++) {
        const co_probe_item *item = &p->items[i];
        if (item->about == about && !is_known(p, item->name, about))
            append(list, item->name);
    }
}

// ----------------------------------------------------------------------- processes, threads, cores

// One of our own sources that did not come back; true if it did.
static bool answered(vw_checks *c, const co_probe *p, const char *source, const char *name)
{
    const co_probe_source *s = co_probe_find_source(p, source);
    if (s && s->opened && s->answered)
        return true;
    vw_check *check = vw_check_add(c, name, VW_MISSING, "the system did not answer%s%s",
                                   s && s->remark[0] ? ": " : "", s ? s->remark : "");
    vw_check_fix(check, "try again when the machine is less busy; --counters leaves it out");
    return false;
}

static void check_own(vw_checks *c, const co_probe *p, const char *source, const char *name,
                      int about, const char *told)
{
    char unknown[LIST_BYTES];
    if (!answered(c, p, source, name))
        return;
    bool works = is_known(p, "cpu_user", about);
    list_unknown(p, about, unknown);
    vw_check_add(c, name, works ? VW_WORKS : VW_NOT_HERE, "%s%s%s",
                 works ? told : "this system tells no processor time",
                 unknown[0] ? "; not told here: " : "", unknown);
}

// --------------------------------------------------------------------------- performance counters

// The subjects of the first of these counters that has values; "" if none has.
static unsigned find_any(const co_probe *p, const char *const *names, int about, char *subjects)
{
    subjects[0] = '\0';
    for (; *names; names++) {
        const co_probe_item *item = co_probe_find(p, "pdh", *names, about);
        if (!item || !item->known)
            continue;
        for (unsigned i = 0; i < item->subject_count; i++)
            append(subjects, item->subjects[i]);
        return item->known;
    }
    return 0;
}

static const char *const core_names[] = {"utility", "performance", "frequency", "busy", NULL};
static const char *const gpu_names[] = {"gpu_utilization", NULL};
static const char *const npu_names[] = {"npu_utilization", NULL};
static const char *const energy_names[] = {"energy", "power", NULL};
static const char *const heat_names[] = {"temperature", NULL};

#define NO_WINE   "Wine has no such counters"
#define REBUILD   "in a prompt of an administrator: lodctr /R, then restart the machine"
#define NO_ANSWER "performance counters did not answer"

// Why a part of the performance counters tells nothing; `else_what` is for a machine that is whole.
static void check_absent(vw_checks *c, const char *name, const co_probe *p, const co_facts *f,
                         const char *else_what)
{
    const co_probe_source *s = co_probe_find_source(p, "pdh");
    char unused[LIST_BYTES];
    bool whole = find_any(p, core_names, CORE, unused) > 0;
    if (s && s->remark[0] && s->remark_level <= 3)
        vw_check_fix(vw_check_add(c, name, VW_MISSING, "%s", s->remark), REBUILD);
    else if (is_wine(f) && !whole)
        vw_check_add(c, name, VW_NOT_HERE, NO_WINE);
    else if (s && !s->answered)
        vw_check_fix(vw_check_add(c, name, VW_MISSING, NO_ANSWER), REBUILD);
    else
        vw_check_add(c, name, VW_NOT_HERE, "%s", else_what);
}

static void check_clocks(vw_checks *c, const co_probe *p, const co_facts *f)
{
    char unused[LIST_BYTES];
    const co_probe_source *s = co_probe_find_source(p, "pdh");
    unsigned cores = find_any(p, core_names, CORE, unused);
    if (cores)
        vw_check_add(c, "core clocks", VW_WORKS, "of %u cores, by performance counters", cores);
    else if (is_wine(f))
        vw_check_add(c, "core clocks", VW_NOT_HERE, NO_WINE);
    else // every Windows has these
        vw_check_fix(vw_check_add(c, "core clocks", VW_MISSING, "%s",
                                  s && !s->answered ? NO_ANSWER
                                                    : "the performance counters of the processor "
                                                      "are missing"),
                     REBUILD);
}

static void check_device(vw_checks *c, const char *name, const co_probe *p, const co_facts *f,
                         const char *const *counters, const char *about)
{
    char subjects[LIST_BYTES];
    const char *device = first_device(f, about);
    if (find_any(p, counters, DEVICE, subjects))
        vw_check_add(c, name, VW_WORKS, "%s: %s", device ? device : "by performance counters",
                     subjects);
    else if (device && !is_wine(f))
        vw_check_fix(vw_check_add(c, name, VW_MISSING, "%s has no performance counters", device),
                     "install the driver of its maker (WDDM 2.0 or later; MCDM for an NPU)");
    else
        check_absent(c, name, p, f, "this machine has none");
}

static void check_named(vw_checks *c, const char *name, const co_probe *p, const co_facts *f,
                        const char *const *counters, const char *else_what)
{
    char subjects[LIST_BYTES];
    if (find_any(p, counters, MACHINE, subjects))
        vw_check_add(c, name, VW_WORKS, "%s", subjects);
    else
        check_absent(c, name, p, f, else_what);
}

// -------------------------------------------------------------------------------------------- NVML

static bool has_nvidia(const co_facts *f)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->items[i].about, "gpu") == 0 && strcmp(f->items[i].name, "name") == 0 &&
            strstr(f->items[i].text, "NVIDIA"))
            return true;
    return false;
}

static void check_nvml(vw_checks *c, const co_probe *p, const co_facts *f)
{
    static const char name[] = "NVIDIA (nvml)";
    const co_probe_source *s = co_probe_find_source(p, "nvml");
    const co_probe_item *use = co_probe_find(p, "nvml", "gpu_utilization", DEVICE);
    char devices[LIST_BYTES] = "";
    for (unsigned i = 0; use && i < use->subject_count; i++)
        append(devices, use->subjects[i]);
    vw_check *check;
    if (use && use->known) {
        vw_check_add(c, name, VW_WORKS, "%s%s%s", devices, s && s->remark[0] ? "; " : "",
                     s ? s->remark : "");
        return;
    }
    if (s && !s->answered)
        check = vw_check_add(c, name, VW_MISSING, "nvml.dll does not answer");
    else if (s && s->remark[0])
        check = vw_check_add(c, name, VW_MISSING, "%s", s->remark);
    else if (use)
        check = vw_check_add(c, name, VW_MISSING, "the device tells nothing");
    else if (has_nvidia(f))
        check = vw_check_add(c, name, VW_MISSING, "nvml.dll is not there");
    else {
        vw_check_add(c, name, VW_NOT_HERE, "no NVIDIA device");
        return;
    }
    vw_check_fix(check, "install NVIDIA's driver, then see that nvidia-smi works");
}

void vw_check_counters(vw_checks *c, const co_probe *p, const co_facts *f)
{
    check_own(c, p, "process", "processes", PROCESS, "processor time, memory, handles, threads");
    check_own(c, p, "system", "threads", THREAD, "processor time of each");
    check_own(c, p, "process", "cores", CORE, "processor time of each");
    check_clocks(c, p, f);
    check_device(c, "GPU", p, f, gpu_names, "gpu");
    check_device(c, "NPU", p, f, npu_names, "npu");
    check_nvml(c, p, f);
    check_named(c, "energy meters", p, f, energy_names,
                "no meter that Windows knows; NVIDIA's devices bring their own");
    check_named(c, "heat", p, f, heat_names, "no thermal zone that tells its temperature");
}

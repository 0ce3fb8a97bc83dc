// SPDX-License-Identifier: MIT
// How the machines of two recordings differ, by the facts that both tell. What only one of them
// tells is no difference: an older ortscope did not ask.
#include "diff_internal.h"

#include "common/text.h"

#include <stdio.h>

#define DEVICES 8 // of a sort that are compared

static cm_status note_text(an_diff *d, const char *about, int64_t number, const char *name,
                           const char *what)
{
    const char *texts[2];
    for (int side = 0; side < 2; side++)
        texts[side] = an_machine_text(&d->sides[side]->machine, about, number, name);
    if (!texts[0] || !texts[1])
        return CM_OK;
    return an_diff_note_texts(d, NULL, what, texts[0], texts[1], true);
}

static cm_status note_memory(an_diff *d)
{
    char texts[2][32];
    for (int side = 0; side < 2; side++) {
        double bytes = an_machine_number(&d->sides[side]->machine, "memory", AN_ONLY, "bytes");
        if (!(bytes > 0))
            return CM_OK;
        cm_format_bytes(texts[side], sizeof texts[side], (uint64_t)bytes);
    }
    return an_diff_note_texts(d, NULL, "memory of the machine", texts[0], texts[1], true);
}

// A virtual machine or Wine on one side only is a difference too, if both told of the machine.
static cm_status note_below(an_diff *d, const char *name, const char *what)
{
    const char *texts[2];
    for (int side = 0; side < 2; side++) {
        const an_machine *m = &d->sides[side]->machine;
        if (m->count == 0)
            return CM_OK;
        texts[side] = an_machine_text(m, "machine", AN_ONLY, name);
        texts[side] = texts[side] ? texts[side] : "none";
    }
    return an_diff_note_texts(d, NULL, what, texts[0], texts[1], true);
}

static cm_status note_devices(an_diff *d, const char *about, const char *what)
{
    char name[40], driver[56];
    for (int64_t i = 0; i < DEVICES; i++) {
        snprintf(name, sizeof name, "%s %lld", what, (long long)i + 1);
        snprintf(driver, sizeof driver, "driver of %s", name);
        CM_TRY(note_text(d, about, i, "name", name));
        CM_TRY(note_text(d, about, i, "driver", driver));
    }
    return CM_OK;
}

cm_status an_diff_note_machine(an_diff *d)
{
    CM_TRY(note_text(d, "machine", AN_ONLY, "manufacturer", "maker of the machine"));
    CM_TRY(note_text(d, "machine", AN_ONLY, "model", "machine"));
    CM_TRY(note_text(d, "processor", AN_ONLY, "instructions", "instructions"));
    CM_TRY(note_memory(d));
    CM_TRY(note_devices(d, "gpu", "GPU"));
    CM_TRY(note_devices(d, "npu", "NPU"));
    CM_TRY(note_text(d, "power", AN_ONLY, "plan", "power plan"));
    CM_TRY(note_text(d, "power", AN_ONLY, "source", "power"));
    CM_TRY(note_below(d, "hypervisor", "virtual machine"));
    return note_below(d, "wine", "Wine");
}

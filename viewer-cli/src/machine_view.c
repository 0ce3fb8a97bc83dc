// SPDX-License-Identifier: MIT
// The machine in `ortscope summary`: a line for people, "machine" in the JSON. What the file does
// not tell is left out of the line and null in the JSON.
#include "analysis/machine.h"
#include "common/text.h"
#include "summary_view.h"

#include <math.h>
#include <string.h>

#define DEVICES_SHOWN 4

// -------------------------------------------------------------------------------------------- text

static void write_clean(vw_io *io, const char *before, const char *text, size_t width)
{
    cm_out_text(&io->out, before);
    cm_text_clean(&io->out, text, width);
}

// "Dell Inc. XPS 15", the maker not twice.
static const char *write_model(vw_io *io, const an_machine *m)
{
    const char *maker = an_machine_text(m, "machine", AN_ONLY, "manufacturer");
    const char *model = an_machine_text(m, "machine", AN_ONLY, "model");
    if (maker && !(model && strncmp(model, maker, strlen(maker)) == 0))
        write_clean(io, "", maker, 40);
    if (model)
        write_clean(io, maker && strncmp(model, maker, strlen(maker)) != 0 ? " " : "", model, 40);
    return maker || model ? ", " : "";
}

static void write_cores(vw_io *io, const an_machine *m)
{
    double cores = an_machine_number(m, "processor", AN_ONLY, "cores");
    double fast = an_machine_number(m, "processor", AN_ONLY, "performance_cores");
    double slow = an_machine_number(m, "processor", AN_ONLY, "efficiency_cores");
    double threads = an_machine_number(m, "processor", AN_ONLY, "threads");
    if (!an_known(cores))
        return;
    cm_out_printf(&io->out, ", %.0f core%s", cores, cores == 1 ? "" : "s");
    if (an_known(fast) && an_known(slow))
        cm_out_printf(&io->out, " (%.0f fast, %.0f efficient)", fast, slow);
    if (an_known(threads) && threads != cores)
        cm_out_printf(&io->out, ", %.0f threads", threads);
}

// What follows the processor stands on a line of its own.
static void write_part(vw_io *io, bool *begun, const char *before, const char *text, size_t width)
{
    cm_out_text(&io->out, *begun ? ", " : "\n  ");
    write_clean(io, before, text, width);
    *begun = true;
}

static void write_devices(vw_io *io, const an_machine *m, const char *about, bool *begun)
{
    int64_t count = an_machine_count(m, about), shown = 0;
    for (int64_t i = 0; i < count; i++) {
        const char *name = an_machine_text(m, about, i, "name");
        const char *driver = an_machine_text(m, about, i, "driver");
        if (!name || shown++ >= DEVICES_SHOWN)
            continue;
        write_part(io, begun, "", name, 48);
        if (driver) {
            write_clean(io, " (driver ", driver, 24);
            cm_out_char(&io->out, ')');
        }
    }
    if (shown > DEVICES_SHOWN)
        cm_out_printf(&io->out, " and %lld more", (long long)(shown - DEVICES_SHOWN));
}

static void write_power(vw_io *io, const an_machine *m, bool *begun)
{
    const char *plan = an_machine_text(m, "power", AN_ONLY, "plan");
    const char *source = an_machine_text(m, "power", AN_ONLY, "source");
    if (plan)
        write_part(io, begun, "power plan ", plan, 40);
    if (source && strcmp(source, "battery") == 0)
        write_part(io, begun, "on battery", "", 0);
}

// That it is no machine of its own makes every time doubtful.
static void write_below(vw_io *io, const an_machine *m, bool *begun)
{
    const char *wine = an_machine_text(m, "machine", AN_ONLY, "wine");
    const char *hypervisor = an_machine_text(m, "machine", AN_ONLY, "hypervisor");
    if (hypervisor)
        write_part(io, begun, "virtual machine of ", hypervisor, 24);
    if (wine)
        write_part(io, begun, "under Wine ", wine, 24);
}

void vw_machine_text(vw_io *io, const an_machine *m)
{
    if (m->count == 0)
        return;
    cm_out_text(&io->out, "Machine: ");
    const char *separator = write_model(io, m);
    const char *cpu = an_machine_text(m, "processor", AN_ONLY, "name");
    double memory = an_machine_number(m, "memory", AN_ONLY, "bytes");
    char text[32];
    write_clean(io, separator, cpu ? cpu : "unknown processor", 48);
    write_cores(io, m);
    if (memory > 0) {
        cm_format_bytes(text, sizeof text, (uint64_t)memory);
        cm_out_printf(&io->out, ", %s of memory", text);
    }
    bool begun = false;
    write_devices(io, m, "gpu", &begun);
    write_devices(io, m, "npu", &begun);
    write_power(io, m, &begun);
    write_below(io, m, &begun);
    cm_out_char(&io->out, '\n');
}

// -------------------------------------------------------------------------------------------- JSON

static void key_text(cm_json *j, const an_machine *m, const char *about, int64_t number,
                     const char *name)
{
    cm_json_key(j, name);
    cm_json_string(j, an_machine_text(m, about, number, name));
}

static void key_number(cm_json *j, const an_machine *m, const char *about, int64_t number,
                       const char *name)
{
    cm_json_key(j, name);
    cm_json_number(j, an_machine_number(m, about, number, name), 0);
}

static void json_texts(cm_json *j, const an_machine *m, const char *about, int64_t number,
                       const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        key_text(j, m, about, number, names[i]);
}

static void json_numbers(cm_json *j, const an_machine *m, const char *about, int64_t number,
                         const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        key_number(j, m, about, number, names[i]);
}

#define TEXTS(j, m, about, number, ...)                                                            \
    json_texts(j, m, about, number, (const char *const[]){__VA_ARGS__},                            \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
#define NUMBERS(j, m, about, number, ...)                                                          \
    json_numbers(j, m, about, number, (const char *const[]){__VA_ARGS__},                          \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void json_words(cm_json *j, const char *key, const char *words)
{
    cm_json_key(j, key);
    if (!words) {
        cm_json_null(j);
        return;
    }
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
    while (*words) {
        size_t len = strcspn(words, " ");
        if (len)
            cm_json_bytes(j, words, len);
        words += len + (words[len] == ' ');
    }
    cm_json_end(j);
}

static void json_processor(cm_json *j, const an_machine *m)
{
    cm_json_key(j, "processor");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    TEXTS(j, m, "processor", AN_ONLY, "name");
    NUMBERS(j, m, "processor", AN_ONLY, "packages", "nodes", "cores", "performance_cores",
            "efficiency_cores", "threads", "nominal_mhz");
    json_words(j, "instructions", an_machine_text(m, "processor", AN_ONLY, "instructions"));
    double steady = an_machine_number(m, "processor", AN_ONLY, "steady_ticks");
    cm_json_key(j, "steady_ticks");
    if (an_known(steady))
        cm_json_bool(j, steady != 0);
    else
        cm_json_null(j);
    int64_t count = an_machine_count(m, "cache");
    cm_json_key(j, "caches");
    cm_json_begin_array(j, count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (int64_t i = 0; i < count; i++) {
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        NUMBERS(j, m, "cache", i, "level");
        TEXTS(j, m, "cache", i, "holds");
        NUMBERS(j, m, "cache", i, "bytes", "line_bytes", "count");
        cm_json_end(j);
    }
    cm_json_end(j);
    cm_json_end(j);
}

static void json_devices(cm_json *j, const an_machine *m, const char *key, const char *about)
{
    int64_t count = an_machine_count(m, about);
    cm_json_key(j, key);
    cm_json_begin_array(j, count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (int64_t i = 0; i < count; i++) {
        cm_json_begin_object(j, CM_JSON_INDENTED);
        TEXTS(j, m, about, i, "name", "driver", "driver_date", "driver_vendor", "hardware",
              "adapter");
        NUMBERS(j, m, about, i, "memory_bytes");
        cm_json_end(j);
    }
    cm_json_end(j);
}

void vw_machine_json(cm_json *j, const an_machine *m)
{
    cm_json_key(j, "machine");
    if (m->count == 0) {
        cm_json_null(j);
        return;
    }
    cm_json_begin_object(j, CM_JSON_INDENTED);
    TEXTS(j, m, "machine", AN_ONLY, "manufacturer", "model", "firmware", "hypervisor", "wine");
    cm_json_key(j, "os");
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    TEXTS(j, m, "os", AN_ONLY, "name", "release", "version");
    NUMBERS(j, m, "os", AN_ONLY, "revision");
    cm_json_end(j);
    json_processor(j, m);
    cm_json_key(j, "memory");
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    NUMBERS(j, m, "memory", AN_ONLY, "bytes", "commit_limit_bytes");
    cm_json_end(j);
    json_devices(j, m, "gpus", "gpu");
    json_devices(j, m, "npus", "npu");
    cm_json_key(j, "power");
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    TEXTS(j, m, "power", AN_ONLY, "plan", "source");
    NUMBERS(j, m, "power", AN_ONLY, "battery_percent");
    cm_json_end(j);
    cm_json_end(j);
}

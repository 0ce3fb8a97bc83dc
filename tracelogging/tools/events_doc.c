// SPDX-License-Identifier: MIT
// Renders the schema table as Markdown. Only the build's helper program and the test that compares
// docs/events.md with it use this; it ships in nothing.
#include "events_doc.h"

#include "tracelogging/codec.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define DOC_BYTES_MAX (256u * 1024u)

typedef struct document {
    char *text;
    size_t used;
} document;

__attribute__((format(printf, 2, 3))) static void print(document *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int written = vsnprintf(d->text + d->used, DOC_BYTES_MAX - d->used, format, args);
    va_end(args);
    if (written < 0 || (size_t)written >= DOC_BYTES_MAX - d->used)
        abort(); // a helper for developers: the limit above is far away
    d->used += (size_t)written;
}

static void print_introduction(document *d)
{
    print(d,
          "<!-- Made from tracelogging/include/tracelogging/schema.h; do not edit. To renew it:\n"
          "     cmake --build build/linux --target tl_events_doc_update -->\n"
          "# Events of the hook\n\n"
          "What `ortscope_hook.dll` records, in the order of the numbers on the wire. A payload "
          "is the fields\nof its event packed in this order, little-endian, with no padding: "
          "exactly what TraceLogging\nwould send. `STR` is a u16 byte count and UTF-8 text, "
          "`I64S` a u16 element count and 64-bit\nintegers; a payload may end early before a "
          "field of these two types, which then reads as empty.\n"
          "Times are in ticks of the processor's time-stamp counter. Keywords: 0x1 lifecycle, "
          "0x2 runs,\n0x4 messages, 0x8 operators, 0x10 memory, 0x20 what ORT itself tells. How "
          "event "
          "tracing gets these\nevents: etw.md.\n");
}

static void print_event(document *d, int id, const tl_event_info *info)
{
    print(d, "\n## %d %s\n\n%s Level %u, keyword 0x%" PRIx64 ".\n\n", id, info->name, info->text,
          (unsigned)info->level, info->keyword);
    print(d, "| field | type | TraceLogging in/out | meaning |\n|---|---|---|---|\n");
    for (uint32_t i = 0; i < info->field_count; i++) {
        const tl_field_info *field = &info->fields[i];
        print(d, "| `%s` | %s | 0x%02x/%u | %s |\n", field->name, field->type,
              (unsigned)field->in_type, (unsigned)field->out_type, field->text);
    }
}

char *tl_events_doc(size_t *bytes)
{
    document d = {.text = malloc(DOC_BYTES_MAX)};
    if (d.text == NULL)
        return NULL;
    print_introduction(&d);
    for (int id = 1; id < TL_EVENT_COUNT; id++)
        print_event(&d, id, tl_event_get((tl_event)id));
    *bytes = d.used;
    return d.text;
}

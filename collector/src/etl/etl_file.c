// SPDX-License-Identifier: MIT
// Opening a recording and reading it from front to back.
#include "etl_internal.h"

#include "common/file_format.h"
#include "etl_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cm_status refuse(co_etl *e, const char *name)
{
    uint8_t head[4096];
    size_t len = e->bytes < sizeof head ? (size_t)e->bytes : sizeof head;
    if (e->file && cm_file_read_at(e->file, 0, head, len, &len) != CM_OK)
        len = 0;
    const cm_file_format *format = cm_file_format_of(e->file ? head : e->memory, len);
    if (format && !strstr(format->what, ".etl")) // else it is one that is damaged
        return cm_fail(CM_UNSUPPORTED,
                       "%s is no recording of Windows' event tracing (.etl): it is %s.%s%s", name,
                       format->what, format->advice[0] ? " " : "", format->advice);
    return cm_fail(CM_UNSUPPORTED,
                   "%s is no recording of Windows' event tracing (.etl)%s. Recordings are made by "
                   "wpr, xperf, PerfView, logman or `tracelog`.",
                   name, e->bytes == 0 ? ": it is empty" : ", or its beginning is damaged");
}

// Its first buffer must hold the description of the recording as its first record.
static cm_status read_header(co_etl *e, const char *name)
{
    co_etl_buffer buffer;
    co_etl_event first;
    etl_loaded loaded = {0};
    size_t next;
    const char *problem;
    bool good = false;
    cm_status status = co_etl_buffer_at(e, 0, &buffer);
    if (status == CM_OK && buffer.type == ETL_BUFFER_TYPE_HEADER) {
        status = co_etl_buffer_load(e, &buffer, &loaded, &problem);
        good = status == CM_OK && loaded.used > ETL_BUFFER_HEADER &&
               co_etl_record_parse(loaded.bytes, loaded.used, ETL_BUFFER_HEADER, buffer.cpu, &first,
                                   &next, &problem) == ETL_RECORD &&
               co_etl_logfile_parse(&first, &e->header);
    }
    free(loaded.bytes);
    if (good)
        return CM_OK;
    if (status == CM_IO || status == CM_NO_MEMORY)
        return status;
    return refuse(e, name);
}

static cm_status open_source(co_etl source, const char *name, co_etl **out)
{
    co_etl *e = malloc(sizeof *e);
    cm_status status = CM_OK;
    if (!e)
        status = cm_fail(CM_NO_MEMORY, "Out of memory while opening %s.", name);
    else
        *e = source;
    if (status == CM_OK && e->file)
        status = cm_file_size(e->file, &e->bytes);
    if (status == CM_OK)
        status = read_header(e, name);
    if (status == CM_OK)
        *out = e;
    else if (e)
        co_etl_close(e);
    else
        cm_file_close(source.file);
    return status;
}

cm_status co_etl_open(const char *path, co_etl **out)
{
    co_etl source = {.memory_max = ETL_MEMORY_MAX};
    char name[600];
    CM_TRY(cm_file_open(path, &source.file));
    snprintf(name, sizeof name, "\"%.590s\"", path);
    return open_source(source, name, out);
}

cm_status co_etl_open_memory(const void *memory, size_t len, co_etl **out)
{
    co_etl source = {.memory = memory, .bytes = len, .memory_max = ETL_MEMORY_MAX / 8};
    return open_source(source, "This", out);
}

void co_etl_close(co_etl *e)
{
    if (!e)
        return;
    cm_file_close(e->file);
    free(e->packed);
    free(e);
}

const co_etl_header *co_etl_header_of(const co_etl *e)
{
    return &e->header;
}

uint64_t co_etl_bytes(const co_etl *e)
{
    return e->bytes;
}

// ------------------------------------------------------------------------------ front to back

static void tell_damage(const co_etl_visitor *v, const co_etl_buffer *buffer, const char *problem)
{
    char sentence[256];
    if (!problem || !v->damage)
        return;
    snprintf(sentence, sizeof sentence, "buffer at byte %llu: %s",
             (unsigned long long)buffer->offset, problem);
    v->damage(v->context, sentence);
}

// False: the visitor has had enough.
static bool visit_records(const co_etl_visitor *v, const co_etl_buffer *buffer,
                          const etl_loaded *loaded)
{
    for (size_t at = ETL_BUFFER_HEADER; at < loaded->used;) {
        co_etl_event event;
        const char *problem;
        etl_record_result result = co_etl_record_parse(loaded->bytes, loaded->used, at, loaded->cpu,
                                                       &event, &at, &problem);
        tell_damage(v, buffer, problem);
        if (result == ETL_RECORD_END || result == ETL_RECORD_BROKEN)
            break;
        if (v->event && !v->event(v->context, &event))
            return false;
    }
    return true;
}

static cm_status read_by_file(co_etl *e, const co_etl_visitor *v)
{
    etl_loaded loaded = {0};
    co_etl_buffer buffer = {0};
    cm_status status;
    for (uint64_t offset = 0; (status = co_etl_buffer_at(e, offset, &buffer)) == CM_OK;
         offset += buffer.size) {
        const char *problem;
        if (v->progress && !v->progress(v->context, offset, e->bytes))
            break;
        if (v->buffer)
            v->buffer(v->context, &buffer);
        status = co_etl_buffer_load(e, &buffer, &loaded, &problem);
        if (status != CM_OK)
            break;
        tell_damage(v, &buffer, problem);
        if (!visit_records(v, &buffer, &loaded)) {
            status = CM_END;
            break;
        }
    }
    free(loaded.bytes);
    if (status == CM_CORRUPT) { // what is there has been handed out
        buffer.offset += buffer.size;
        tell_damage(v, &buffer, cm_error_text(status));
        return CM_OK;
    }
    return status == CM_END ? CM_OK : status;
}

cm_status co_etl_read(co_etl *e, co_etl_order order, const co_etl_visitor *visitor)
{
    return order == CO_ETL_BY_FILE ? read_by_file(e, visitor) : co_etl_merge(e, visitor);
}

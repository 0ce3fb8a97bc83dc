// SPDX-License-Identifier: MIT
// See export_output.h. Must never remove what it has not made: devices are left alone.
#include "export_output.h"

#include "timeline_input.h"

#include <stdio.h>
#include <string.h>

static cm_status write_file(void *context, const void *bytes, size_t len)
{
    vw_ex_output *o = context;
    o->part_bytes += len;
    o->total_bytes += len;
    if (o->file)
        return cm_file_write(o->file, bytes, len);
    cm_out_bytes(&o->io->out, bytes, len);
    return o->io->out.status;
}

static cm_status write_part(void *context, const void *bytes, size_t len)
{
    vw_ex_output *o = context;
    return o->stream ? vw_gzip_write(o->stream, bytes, len) : write_file(o, bytes, len);
}

void vw_ex_output_init(vw_ex_output *o, vw_io *io, const char *path, const char *extension,
                       uint64_t split_bytes, bool gzip)
{
    memset(o, 0, sizeof *o);
    cm_out_init_sink(&o->out, write_part, o);
    o->io = io;
    o->path = path;
    o->extension = extension;
    o->split_bytes = split_bytes;
    o->gzip = gzip;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t end_len = strlen(end);
    return len > end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

// How much of the path stands before the number of a part.
static size_t stem_len(const vw_ex_output *o)
{
    size_t len = strlen(o->path), whole;
    if (ends_with(o->path, len, ".gz"))
        len -= 3;
    whole = len;
    if (ends_with(o->path, len, o->extension))
        return len - strlen(o->extension);
    while (len > 0 && !strchr("./\\", o->path[len - 1]))
        len--;
    return len > 1 && o->path[len - 1] == '.' ? len - 1 : whole;
}

static cm_status name_part(vw_ex_output *o, unsigned part)
{
    size_t stem = stem_len(o);
    int len = o->split_bytes ? snprintf(o->name, sizeof o->name, "%.*s.%03u%s", (int)stem, o->path,
                                        part, o->path + stem)
                             : snprintf(o->name, sizeof o->name, "%s", o->path);
    if (len < 0 || (size_t)len >= sizeof o->name)
        return cm_fail(CM_USAGE, "The name of the output is too long.");
    return CM_OK;
}

cm_status vw_ex_output_open(vw_ex_output *o)
{
    if (o->part == VW_EX_MAX_PARTS)
        return cm_fail(CM_USAGE,
                       "This would make more than %u files; choose a larger --split-size.",
                       VW_EX_MAX_PARTS);
    if (o->path) {
        CM_TRY(name_part(o, o->part + 1));
        CM_TRY(cm_file_create(o->name, &o->file));
    }
    o->part++;
    o->is_open = true;
    o->part_bytes = 0;
    return o->gzip ? vw_gzip_create(write_file, o, &o->stream) : CM_OK;
}

cm_status vw_ex_output_close(vw_ex_output *o)
{
    cm_status status = cm_out_flush(&o->out);
    if (status == CM_OK && o->stream)
        status = vw_gzip_finish(o->stream);
    vw_gzip_destroy(o->stream);
    o->stream = NULL;
    cm_status closed = cm_file_close(o->file);
    o->file = NULL;
    o->is_open = false;
    return status == CM_OK ? closed : status;
}

bool vw_ex_output_is_full(const vw_ex_output *o)
{
    return o->split_bytes && o->part_bytes + o->out.buf.len >= o->split_bytes;
}

static void remove_parts(vw_ex_output *o)
{
    if (!o->path)
        return;
    for (unsigned part = 1; part <= o->part; part++)
        if (name_part(o, part) == CM_OK)
            cm_file_discard(o->name);
}

void vw_ex_output_deinit(vw_ex_output *o, bool keep)
{
    vw_gzip_destroy(o->stream);
    cm_file_close(o->file);
    cm_out_deinit(&o->out);
    if (!keep)
        remove_parts(o);
}

// By what is in it: paths may be spelled in many ways.
cm_status vw_ex_refuse_recording(const char *path)
{
    static const uint8_t magic[] = {0xa5, 'm', 'a', 'g', 'i', 'c', 0xa4, 'o', 'r', 't', 'l'};
    uint8_t head[16] = {0};
    size_t len = 0;
    cm_file *file;
    if (cm_file_open(path, &file) != CM_OK)
        return CM_OK; // it is not there yet
    cm_status status = cm_file_read_at(file, 0, head, sizeof head, &len);
    cm_file_close(file);
    if (status == CM_OK &&
        (memcmp(head + 1, magic, sizeof magic) == 0 || memcmp(head + 3, magic, sizeof magic) == 0))
        return cm_fail(
            CM_USAGE,
            "\"%s\" is a recording of ortscope, which must not be overwritten; name another file "
            "with -o.",
            path);
    return CM_OK;
}

int vw_ex_exit_code(const vw_io *io, cm_status status)
{
    if (status == CM_OK || io->reader_gone)
        return 0;
    if (cm_out_failed(&io->out))
        return 1; // vw_io_end says why
    return vw_failure(vw_file_failure(status));
}

// SPDX-License-Identifier: MIT
// The header: tells a timeline from any other file, refuses a version that it does not know, and
// maps the file's columns to ours by name. Unknown keys, kinds, columns and encodings are passed
// over, so that files of later versions that only add things stay readable.
#include "reader_internal.h"

#include "common/crc32.h"
#include "common/file_format.h"
#include "common/utf.h"

#include <string.h>

#define TYPES_MAX 32u // column types that a file may name

typedef struct file_types {
    unsigned count;
    struct {
        mp_token name;
        bool known, delta;
    } types[TYPES_MAX];
} file_types;

static void copy_text(const mp_token *token, char *out, size_t cap)
{
    if (token->type == MP_STR)
        cm_utf8_repair((const char *)token->data, (size_t)token->value, out, cap);
}

static mp_result read_types(mp_input *in, file_types *out)
{
    mp_token map, name, encoding;
    mp_result result = mp_expect(in, MP_MAP, &map);
    out->count = 0;
    for (uint64_t i = 0; result == MP_OK && i < map.value; i++) {
        if ((result = mp_expect(in, MP_STR, &name)) != MP_OK ||
            (result = mp_expect(in, MP_STR, &encoding)) != MP_OK)
            break;
        if (out->count == TYPES_MAX)
            return MP_BAD;
        out->types[out->count].name = name;
        out->types[out->count].delta = mp_text_is(&encoding, TM_ENCODING_DELTA);
        out->types[out->count].known =
            out->types[out->count].delta || mp_text_is(&encoding, TM_ENCODING_PLAIN);
        out->count++;
    }
    return result;
}

// Place of the column in kinds.h, or -1.
static int8_t find_column(const tm_kind_info *info, const mp_token *name)
{
    for (unsigned i = 0; i < info->column_count; i++)
        if (mp_text_is(name, info->columns[i].name))
            return (int8_t)i;
    return -1;
}

static mp_result read_column(mp_input *in, const file_types *types, const tm_kind_info *info,
                             tm_file_kind *kind)
{
    mp_token pair, name, type;
    mp_result result = mp_expect(in, MP_ARRAY, &pair);
    if (result != MP_OK)
        return result;
    if (pair.value < 2 || kind->column_count == TM_FILE_COLUMNS_MAX)
        return MP_BAD;
    if ((result = mp_expect(in, MP_STR, &name)) != MP_OK ||
        (result = mp_expect(in, MP_STR, &type)) != MP_OK)
        return result;
    for (uint64_t i = 2; i < pair.value; i++)
        if ((result = mp_skip(in)) != MP_OK)
            return result;
    int8_t ours = find_column(info, &name);
    bool delta = false, known = false;
    for (unsigned i = 0; i < types->count && !known; i++)
        if (types->types[i].name.value == type.value &&
            memcmp(types->types[i].name.data, type.data, (size_t)type.value) == 0) {
            known = types->types[i].known;
            delta = types->types[i].delta;
        }
    for (unsigned i = 0; i < kind->column_count; i++)
        if (kind->columns[i].ours == ours)
            ours = -1; // named twice: the first counts
    kind->columns[kind->column_count].ours = known ? ours : -1;
    kind->columns[kind->column_count].delta = delta;
    kind->column_count++;
    return MP_OK;
}

static mp_result read_kinds(mp_input *in, const file_types *types, tm_reader *r)
{
    mp_token map, name, columns;
    mp_result result = mp_expect(in, MP_MAP, &map);
    for (uint64_t i = 0; result == MP_OK && i < map.value; i++) {
        if ((result = mp_expect(in, MP_STR, &name)) != MP_OK)
            break;
        tm_kind kind = 0;
        while (kind < TM_KIND_COUNT && !mp_text_is(&name, tm_kind_get(kind)->name))
            kind++;
        if (kind == TM_KIND_COUNT) {
            result = mp_skip(in);
            continue;
        }
        r->kinds[kind] = (tm_file_kind){.known = true};
        if ((result = mp_expect(in, MP_ARRAY, &columns)) != MP_OK)
            break;
        for (uint64_t c = 0; result == MP_OK && c < columns.value; c++)
            result = read_column(in, types, tm_kind_get(kind), &r->kinds[kind]);
    }
    return result;
}

typedef struct header_parts {
    uint64_t version;
    mp_input types, kinds; // where their values stand; at NULL: absent
    bool has_crc;
    uint64_t crc;
    const uint8_t *crc_key;
} header_parts;

// One entry behind "magic".
static mp_result read_entry(mp_input *in, tm_reader *r, header_parts *parts)
{
    const uint8_t *start = in->at;
    mp_token key;
    mp_result result = mp_expect(in, MP_STR, &key);
    if (result != MP_OK)
        return result;
    mp_input value = *in;
    if ((result = mp_skip(in)) != MP_OK)
        return result;
    value.end = in->at;
    mp_token token;
    if (mp_text_is(&key, "version"))
        return mp_unsigned(&value, &parts->version);
    if (mp_text_is(&key, "start_utc_ns"))
        return mp_unsigned(&value, &r->header.start_utc_ns);
    if (mp_text_is(&key, "types"))
        parts->types = value;
    if (mp_text_is(&key, "kinds"))
        parts->kinds = value;
    if (mp_text_is(&key, "crc")) {
        parts->has_crc = true;
        parts->crc_key = start;
        return mp_unsigned(&value, &parts->crc);
    }
    if (mp_next(&value, &token) != MP_OK)
        return MP_BAD;
    if (mp_text_is(&key, "ortscope"))
        copy_text(&token, r->ortscope_version, sizeof r->ortscope_version);
    if (mp_text_is(&key, "os"))
        copy_text(&token, r->os, sizeof r->os);
    if (mp_text_is(&key, "cpu"))
        copy_text(&token, r->cpu, sizeof r->cpu);
    if (mp_text_is(&key, "cpu_count") && token.type == MP_INT && token.value <= 1000000)
        r->header.cpu_count = (int)token.value;
    return MP_OK;
}

// MP_BAD before the magic was seen means another kind of file: *out_ours tells.
static mp_result read_header(mp_input *in, tm_reader *r, header_parts *parts, bool *out_ours)
{
    mp_token map, token;
    mp_result result = mp_expect(in, MP_MAP, &map);
    *out_ours = false;
    if (result != MP_OK)
        return result;
    if (map.value == 0)
        return MP_BAD;
    for (int i = 0; i < 2; i++) {
        if ((result = mp_expect(in, MP_STR, &token)) != MP_OK)
            return result;
        if (!mp_text_is(&token, i == 0 ? "magic" : TM_MAGIC))
            return MP_BAD;
    }
    *out_ours = true;
    for (uint64_t i = 1; i < map.value && result == MP_OK; i++)
        result = read_entry(in, r, parts);
    return result;
}

static cm_status refuse(const char *name, mp_result result, bool ours, const void *data, size_t len)
{
    if (ours && result == MP_CUT && len < TM_HEADER_BYTES_MAX)
        return cm_fail(CM_CORRUPT,
                       "\"%s\" is too short to be read: it ends inside the header of a timeline, "
                       "before the first block.",
                       name);
    if (ours)
        return cm_fail(CM_CORRUPT,
                       "The header of the timeline \"%s\" is damaged; nothing in the "
                       "file can be read without it.",
                       name);
    if (len == 0)
        return cm_fail(CM_CORRUPT, "\"%s\" is empty, not a timeline.", name);
    const cm_file_format *format = cm_file_format_of(data, len);
    if (format)
        return cm_fail(CM_CORRUPT, "\"%s\" is not a timeline (.ortl): it is %s.%s%s", name,
                       format->what, format->advice[0] ? " " : "", format->advice);
    return cm_fail(CM_CORRUPT,
                   "\"%s\" is not a timeline (.ortl) of ortscope, or less than its first 12 bytes.",
                   name);
}

cm_status tm_reader_load_header(tm_reader *r, const char *name)
{
    const uint8_t *data;
    size_t len;
    CM_TRY(tm_source_fetch(&r->source, 0, TM_HEADER_BYTES_MAX, &data, &len));
    mp_input in = {data, data + len};
    header_parts parts = {0};
    bool ours;
    mp_result result = read_header(&in, r, &parts, &ours);
    if (result != MP_OK)
        return refuse(name, result, ours, data, len);
    if (parts.has_crc && cm_crc32(0, data, (size_t)(parts.crc_key - data)) != parts.crc)
        return refuse(name, MP_BAD, true, data, len);
    if (parts.version != TM_VERSION)
        return cm_fail(CM_UNSUPPORTED,
                       "\"%s\" has version %llu of the timeline format, this program reads version "
                       "%d; read it with a newer ortscope.",
                       name, (unsigned long long)parts.version, TM_VERSION);
    file_types types = {0};
    if (!parts.types.at || !parts.kinds.at || read_types(&parts.types, &types) != MP_OK ||
        read_kinds(&parts.kinds, &types, r) != MP_OK)
        return refuse(name, MP_BAD, true, data, len);
    r->begin = (uint64_t)(in.at - data);
    r->header.ortscope_version = r->ortscope_version;
    r->header.os = r->os;
    r->header.cpu = r->cpu;
    return CM_OK;
}

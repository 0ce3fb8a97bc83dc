// SPDX-License-Identifier: MIT
#include "collector/etl_kernel.h"

#include "etl_bytes.h"

// Four bytes of 0 where there is no SID; else a structure of two pointers stands before it.
static bool take_user_sid(etl_cursor *c, unsigned pointer_size, co_etl_value *out)
{
    if (etl_left(c) < 4)
        return false;
    if (etl_u32(c->at) == 0)
        return etl_take(c, 4) != NULL;
    etl_cursor sid = *c;
    if (!etl_take(&sid, 2 * (size_t)pointer_size) || !(out->bytes = etl_take_sid(&sid, &out->len)))
        return false;
    *c = sid;
    return true;
}

static bool take_number(etl_cursor *c, unsigned size, bool is_signed, co_etl_value *out)
{
    const uint8_t *p = etl_take(c, size);
    if (!p)
        return false;
    out->number = etl_number(p, size);
    if (is_signed && size < 8 && out->number >> (8 * size - 1))
        out->number |= UINT64_MAX << (8 * size);
    return true;
}

static bool take_value(etl_cursor *c, co_etl_type type, unsigned pointer_size, co_etl_value *out)
{
    static const uint8_t sizes[] = {
        [CO_ETL_U8] = 1, [CO_ETL_U16] = 2, [CO_ETL_U32] = 4, [CO_ETL_U64] = 8,
        [CO_ETL_I8] = 1, [CO_ETL_I16] = 2, [CO_ETL_I32] = 4, [CO_ETL_I64] = 8,
    };
    switch (type) {
    case CO_ETL_POINTER:
        return take_number(c, pointer_size, false, out);
    case CO_ETL_UTF16:
    case CO_ETL_ANSI:
        if (etl_left(c) < (type == CO_ETL_UTF16 ? 2u : 1u))
            return false;
        out->bytes = etl_take_text(c, type == CO_ETL_UTF16 ? 2 : 1, &out->len);
        return true;
    case CO_ETL_USER_SID:
        return take_user_sid(c, pointer_size, out);
    case CO_ETL_SID:
        return (out->bytes = etl_take_sid(c, &out->len)) != NULL;
    case CO_ETL_ADDRESSES:
        out->len = etl_left(c) / pointer_size * pointer_size;
        return (out->bytes = etl_take(c, out->len)) != NULL;
    default:
        return take_number(c, sizes[type], type >= CO_ETL_I8, out);
    }
}

size_t co_etl_decode(const co_etl_layout *layout, const co_etl_event *e,
                     co_etl_value values[CO_ETL_FIELDS_MAX])
{
    etl_cursor c = {e->data, e->data + e->data_len};
    bool whole = true;
    for (unsigned i = 0; i < layout->field_count; i++) {
        const co_etl_field *f = &layout->fields[i];
        values[i] = (co_etl_value){0};
        if (!whole || e->version < f->since || (e->version > f->until && f->until != UINT8_MAX))
            continue;
        whole = values[i].present = take_value(&c, f->type, e->pointer_size, &values[i]);
    }
    return etl_left(&c);
}

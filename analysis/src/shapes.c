// SPDX-License-Identifier: MIT
// See shapes.h. Rows may come in any order: a tensor before the set that it belongs to, or twice.
#include "analysis/shapes.h"

#include "analysis/names.h"
#include "analysis_util.h"
#include "common/text.h"

#include <stdlib.h>
#include <string.h>

void an_shapes_init(an_shapes *s)
{
    memset(s, 0, sizeof *s);
}

void an_shapes_deinit(an_shapes *s)
{
    for (size_t i = 0; i < s->count; i++) {
        for (size_t t = 0; t < s->items[i].tensor_count; t++) {
            free(s->items[i].tensors[t].name);
            free(s->items[i].tensors[t].dims);
        }
        free(s->items[i].tensors);
    }
    free(s->items);
    cm_map_deinit(&s->by_id);
    memset(s, 0, sizeof *s);
}

const an_shape *an_shapes_find(const an_shapes *s, int64_t id)
{
    size_t at;
    return cm_map_find(&s->by_id, id, &at) ? &s->items[at] : NULL;
}

static an_shape *find_or_add(an_shapes *s, int64_t id)
{
    size_t at;
    if (cm_map_find(&s->by_id, id, &at))
        return &s->items[at];
    an_shape *items = an_grow(s->items, &s->capacity, s->count, sizeof *items);
    if (!items)
        return NULL;
    s->items = items;
    if (!cm_map_put(&s->by_id, id, s->count))
        return NULL;
    an_shape *shape = &s->items[s->count++];
    *shape = (an_shape){.id = id, .direction = -1, .batch = -1};
    return shape;
}

// The place of the tensor with this index, made if there is none; tensors stay in order.
static an_tensor *tensor_at(an_shape *shape, int64_t index)
{
    size_t at = shape->tensor_count;
    while (at > 0 && shape->tensors[at - 1].index > index)
        at--;
    if (at > 0 && shape->tensors[at - 1].index == index)
        return &shape->tensors[at - 1];
    if (shape->tensor_count == AN_MAX_TENSORS)
        return NULL;
    an_tensor *tensors = realloc(shape->tensors, (shape->tensor_count + 1) * sizeof *tensors);
    if (!tensors)
        return NULL;
    shape->tensors = tensors;
    memmove(tensors + at + 1, tensors + at, (shape->tensor_count - at) * sizeof *tensors);
    tensors[at] = (an_tensor){.index = index};
    shape->tensor_count++;
    return &tensors[at];
}

static cm_status add_tensor(an_shape *shape, const tm_reader *reader, const tm_block *b, size_t row)
{
    an_tensor *tensor = tensor_at(shape, b->columns[TM_tensor_index][row]);
    if (!tensor)
        return shape->tensor_count == AN_MAX_TENSORS ? CM_OK : an_no_memory();
    tensor->onnx_type = b->columns[TM_tensor_onnx_type][row];
    tensor->element_type = b->columns[TM_tensor_element_type][row];
    CM_TRY(an_copy_string(&tensor->name, reader, b->columns[TM_tensor_name][row]));
    return an_copy_string(&tensor->dims, reader, b->columns[TM_tensor_dims][row]);
}

cm_status an_shapes_add(an_shapes *s, const tm_reader *reader, const tm_block *b)
{
    if (b->kind != TM_KIND_shape && b->kind != TM_KIND_tensor)
        return CM_OK;
    _Static_assert((int)TM_shape_shape == 0 && (int)TM_tensor_shape == 0, "both begin with the id");
    for (size_t row = 0; row < b->row_count; row++) {
        an_shape *shape = find_or_add(s, b->columns[0][row]);
        if (!shape)
            return an_no_memory();
        if (b->kind == TM_KIND_tensor) {
            CM_TRY(add_tensor(shape, reader, b, row));
            continue;
        }
        shape->session = b->columns[TM_shape_session][row];
        shape->direction = b->columns[TM_shape_direction][row];
        shape->tensors_announced = b->columns[TM_shape_tensors][row];
        shape->batch = b->columns[TM_shape_batch][row];
    }
    return CM_OK;
}

static void dims_text(cm_out *out, const char *dims)
{
    if (!dims[0])
        cm_out_text(out, "scalar");
    for (; *dims; dims++) {
        char c = *dims == ',' ? 'x' : *dims;
        cm_out_char(out, (c >= '0' && c <= '9') || c == 'x' || c == '-' ? c : '?');
    }
}

void an_shape_text(cm_out *out, const an_shape *shape)
{
    for (size_t i = 0; i < shape->tensor_count; i++) {
        const an_tensor *tensor = &shape->tensors[i];
        cm_out_text(out, i ? ", " : "");
        cm_text_clean(out, tensor->name, 40);
        cm_out_text(out, tensor->name[0] ? " " : "");
        if (tensor->onnx_type != 1) {
            cm_out_text(out, an_onnx_type_name(tensor->onnx_type));
            continue;
        }
        dims_text(out, tensor->dims);
        cm_out_printf(out, " %s", an_element_type_name(tensor->element_type));
    }
    int64_t missing = shape->tensors_announced - (int64_t)shape->tensor_count;
    if (missing > 0)
        cm_out_printf(out, "%s%lld not recorded", shape->tensor_count ? ", " : "",
                      (long long)missing);
}

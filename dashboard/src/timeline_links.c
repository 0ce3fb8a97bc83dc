// SPDX-License-Identifier: MIT
// Which kernels make what a kernel reads: a tensor's name is made by one node of a session's graph.
// What can't be told for certain (a name that two kernels make, as the branches of an If may do;
// names that are missing) is not known rather than guessed.
#include "timeline_data.h"

#include <stdlib.h>

#define SEVERAL ((size_t)UINT32_MAX) // kernels make this name

static size_t kernel_count(const da_timeline *t)
{
    return t->kernels.len / sizeof(da_timeline_kernel);
}

static const da_timeline_tensor *tensors_of(const da_timeline *t)
{
    return (const da_timeline_tensor *)(const void *)t->tensors.data;
}

// Names are numbers of texts; sessions are few.
static int64_t maker_key(const da_timeline *t, const da_timeline_tensor *tensor)
{
    const da_timeline_kernel *kernels = (const da_timeline_kernel *)(const void *)t->kernels.data;
    return (int64_t)((uint64_t)tensor->name ^ (uint64_t)kernels[tensor->kernel].session << 44);
}

static int by_kernel(const void *a, const void *b)
{
    const da_timeline_tensor *x = a, *y = b;
    if (x->kernel != y->kernel)
        return x->kernel < y->kernel ? -1 : 1;
    if (x->made != y->made)
        return x->made ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

// False without memory.
static bool note_makers(da_links *links)
{
    const da_timeline_tensor *tensors = tensors_of(links->timeline);
    for (size_t i = 0; i < links->timeline->tensors.len / sizeof *tensors; i++) {
        size_t before, place = tensors[i].kernel;
        if (!tensors[i].made || !tensors[i].name)
            continue;
        int64_t key = maker_key(links->timeline, &tensors[i]);
        if (cm_map_find(&links->makers, key, &before) && before != place)
            place = SEVERAL;
        if (!cm_map_put(&links->makers, key, place))
            return false;
    }
    return true;
}

static bool note_firsts(da_links *links)
{
    const da_timeline_tensor *tensors = tensors_of(links->timeline);
    size_t kernels = kernel_count(links->timeline), at = 0;
    size_t count = links->timeline->tensors.len / sizeof *tensors;
    uint32_t *first = cm_buf_extend(&links->first, (kernels + 1) * sizeof *first);
    uint32_t *last_reader = cm_buf_extend(&links->last_reader, kernels * sizeof *last_reader);
    if (!first || (kernels && !last_reader))
        return false;
    links->all_named = true;
    for (size_t i = 0; i < kernels; i++) {
        first[i] = (uint32_t)at;
        last_reader[i] = 0;
        while (at < count && tensors[at].kernel == i)
            at++;
        links->all_named = links->all_named && at > first[i];
    }
    first[kernels] = (uint32_t)at;
    return true;
}

void da_links_find(da_links *links, da_timeline *t)
{
    *links = (da_links){.timeline = t};
    cm_map_init(&links->makers);
    cm_buf_init(&links->first);
    cm_buf_init(&links->last_reader);
    if (t->tensors_missing || t->tensors.failed || !t->tensors.len)
        return;
    qsort(t->tensors.data, t->tensors.len / sizeof(da_timeline_tensor), sizeof(da_timeline_tensor),
          by_kernel);
    links->known = note_makers(links) && note_firsts(links);
}

void da_links_deinit(da_links *links)
{
    cm_map_deinit(&links->makers);
    cm_buf_deinit(&links->first);
    cm_buf_deinit(&links->last_reader);
}

// How many kernels it reads from, SIZE_MAX: not known.
static size_t count_makers(const da_links *links, uint32_t begin, uint32_t end)
{
    const da_timeline_tensor *tensors = tensors_of(links->timeline);
    size_t found = 0, maker;
    for (uint32_t i = begin; i < end && !tensors[i].made; i++) {
        if (!cm_map_find(&links->makers, maker_key(links->timeline, &tensors[i]), &maker))
            continue; // an input of the graph, or a constant
        if (maker == SEVERAL)
            return SIZE_MAX;
        found++;
    }
    return begin == end || (!found && !links->all_named) ? SIZE_MAX : found;
}

void da_links_write(cm_json *j, da_links *links, size_t kernel)
{
    const da_timeline_tensor *tensors = tensors_of(links->timeline);
    const uint32_t *first = (const uint32_t *)(const void *)links->first.data;
    uint32_t *last_reader = (uint32_t *)(void *)links->last_reader.data;
    if (!links->known || count_makers(links, first[kernel], first[kernel + 1]) == SIZE_MAX) {
        cm_json_key(j, "producers");
        cm_json_null(j);
        return;
    }
    da_key_array(j, "producers");
    for (uint32_t i = first[kernel]; i < first[kernel + 1] && !tensors[i].made; i++) {
        size_t maker;
        if (!cm_map_find(&links->makers, maker_key(links->timeline, &tensors[i]), &maker) ||
            maker >= kernel_count(links->timeline) || last_reader[maker] == kernel + 1)
            continue;
        last_reader[maker] = (uint32_t)kernel + 1; // told once, however often it is read
        cm_json_uint(j, maker);
    }
    cm_json_end(j);
}

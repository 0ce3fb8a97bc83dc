// SPDX-License-Identifier: MIT
// See analysis_util.h.
#include "analysis_util.h"

#include <stdlib.h>
#include <string.h>

cm_status an_no_memory(void)
{
    return cm_fail(CM_NO_MEMORY, "There is not enough memory to analyse this timeline; close other "
                                 "programs and try again.");
}

void *an_grow(void *items, size_t *capacity, size_t count, size_t item_size)
{
    if (count < *capacity)
        return items;
    size_t wanted = *capacity ? *capacity * 2 : 8;
    if (wanted > SIZE_MAX / 2 / item_size)
        return NULL;
    void *grown = realloc(items, wanted * item_size);
    if (grown)
        *capacity = wanted;
    return grown;
}

cm_status an_copy_string(char **text, const tm_reader *reader, int64_t id)
{
    const char *from = tm_reader_string(reader, id);
    size_t size = strlen(from) + 1;
    char *copy = malloc(size);
    if (!copy)
        return an_no_memory();
    memcpy(copy, from, size);
    free(*text);
    *text = copy;
    return CM_OK;
}

// SPDX-License-Identifier: MIT
// Finds the shapes and messages that belong to runs (see run_list.h).
#include "run_list.h"

#include <stdlib.h>
#include <string.h>

void vw_run_facts_init(vw_run_facts *f)
{
    memset(f, 0, sizeof *f);
    an_shapes_init(&f->shapes);
}

void vw_run_facts_deinit(vw_run_facts *f)
{
    an_shapes_deinit(&f->shapes);
    cm_map_deinit(&f->message_of_run);
    cm_map_deinit(&f->text_of_string);
    for (size_t i = 0; i < f->text_count; i++)
        free(f->texts[i]);
    free(f->texts);
    memset(f, 0, sizeof *f);
}

// Both numbers are small in any file that was not made to deceive.
static int64_t key_of(int64_t session, int64_t run)
{
    return (int64_t)((uint64_t)session << 32 ^ (uint64_t)run);
}

static cm_status no_memory(void)
{
    return cm_fail(CM_NO_MEMORY, "There is not enough memory for the messages of this timeline.");
}

static cm_status keep_text(vw_run_facts *f, const tm_reader *reader, int64_t id, size_t *out)
{
    if (cm_map_find(&f->text_of_string, id, out))
        return CM_OK;
    if (f->text_count == f->text_capacity) {
        size_t capacity = f->text_capacity ? f->text_capacity * 2 : 16;
        char **texts = realloc(f->texts, capacity * sizeof *texts);
        if (!texts)
            return no_memory();
        f->texts = texts;
        f->text_capacity = capacity;
    }
    const char *from = tm_reader_string(reader, id);
    size_t size = strlen(from) + 1;
    char *copy = malloc(size);
    if (!copy || !cm_map_put(&f->text_of_string, id, f->text_count)) {
        free(copy);
        return no_memory();
    }
    memcpy(copy, from, size);
    *out = f->text_count;
    f->texts[f->text_count++] = copy;
    return CM_OK;
}

static cm_status add_message(vw_run_facts *f, const tm_reader *reader, const tm_block *b,
                             size_t row)
{
    int64_t session = b->columns[TM_log_session][row], run = b->columns[TM_log_run][row];
    size_t text;
    if (run <= 0 || f->message_of_run.count >= VW_MAX_RUN_MESSAGES)
        return CM_OK;
    CM_TRY(keep_text(f, reader, b->columns[TM_log_message][row], &text));
    return cm_map_put(&f->message_of_run, key_of(session, run), text) ? CM_OK : no_memory();
}

cm_status vw_run_facts_add(vw_run_facts *f, const tm_reader *reader, const tm_block *b)
{
    for (size_t row = 0; b->kind == TM_KIND_log && row < b->row_count; row++)
        CM_TRY(add_message(f, reader, b, row));
    return an_shapes_add(&f->shapes, reader, b);
}

const char *vw_run_message(const vw_run_facts *f, const vw_run *run)
{
    size_t text;
    return cm_map_find(&f->message_of_run, key_of(run->session, run->run), &text) ? f->texts[text]
                                                                                  : NULL;
}

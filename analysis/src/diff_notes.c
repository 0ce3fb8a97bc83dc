// SPDX-License-Identifier: MIT
// What else differs between two recordings: runtimes, machines, options, inputs. A difference in
// the numbers may come from there.
#include "diff_internal.h"

#include "analysis_util.h"
#include "common/out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 256 // of one session that are compared
#define MAX_NOTES   1024

static char *copy(const char *text, size_t len)
{
    char *result = malloc(len + 1);
    if (!result)
        return NULL;
    memcpy(result, text, len);
    result[len] = '\0';
    return result;
}

cm_status an_diff_note_texts(an_diff *d, const an_diff_group *g, const char *what,
                             const char *old_text, const char *new_text, bool caveat)
{
    old_text = old_text ? old_text : "";
    new_text = new_text ? new_text : "";
    if (strcmp(old_text, new_text) == 0 || d->note_count == MAX_NOTES)
        return CM_OK;
    an_diff_note *notes = an_grow(d->notes, &d->note_capacity, d->note_count, sizeof *notes);
    if (!notes)
        return an_no_memory();
    d->notes = notes;
    an_diff_note *n = &notes[d->note_count++];
    *n = (an_diff_note){g,
                        copy(what, strlen(what)),
                        {copy(old_text, strlen(old_text)), copy(new_text, strlen(new_text))},
                        caveat};
    return n->what && n->texts[0] && n->texts[1] ? CM_OK : an_no_memory();
}

static cm_status note(an_diff *d, const an_diff_group *g, const char *what, const char *old_text,
                      const char *new_text)
{
    return an_diff_note_texts(d, g, what, old_text, new_text, false);
}

static cm_status note_caveat(an_diff *d, const char *what, const char *old_text,
                             const char *new_text)
{
    return an_diff_note_texts(d, NULL, what, old_text, new_text, true);
}

// ------------------------------------------------------------------------------ of the recordings

static void versions(const an_summary *s, cm_out *out)
{
    for (size_t i = 0; i < s->module_count; i++) {
        bool told = false;
        for (size_t k = 0; k < i; k++)
            told = told || strcmp(s->modules[k].version, s->modules[i].version) == 0;
        if (!told)
            cm_out_printf(out, "%s%s", out->buf.len ? ", " : "", s->modules[i].version);
    }
}

static const char *kept_words(const an_summary *s, char *text, size_t size)
{
    int64_t value = 0;
    an_op_kept kept = an_ops_kept(s->ops, &value);
    if (kept == AN_KEPT_EVERY)
        snprintf(text, size, "of one run in %lld", (long long)value);
    else if (kept == AN_KEPT_LONGER)
        snprintf(text, size, "of runs over %lld ns", (long long)value);
    else if (kept == AN_KEPT_SLOWEST)
        snprintf(text, size, "of the slowest %g %%", (double)value / 1e4);
    else
        snprintf(text, size, "%s", kept == AN_KEPT_NONE ? "of no run" : "of all runs");
    return text;
}

static cm_status note_runtimes(an_diff *d)
{
    cm_out texts[2];
    for (int side = 0; side < 2; side++) {
        cm_out_init_memory(&texts[side]);
        versions(d->sides[side], &texts[side]);
    }
    cm_status status =
        note_caveat(d, "ONNX Runtime", cm_out_string(&texts[0]), cm_out_string(&texts[1]));
    cm_out_deinit(&texts[0]);
    cm_out_deinit(&texts[1]);
    return status;
}

static cm_status note_recordings(an_diff *d, const tm_header *headers[2])
{
    char counts[2][32], kept[2][64], lost[2][48];
    const char *programs[2];
    for (int side = 0; side < 2; side++) {
        const an_summary *s = d->sides[side];
        const an_process *p = an_summary_target(s);
        programs[side] = p ? an_file_name(p->program) : "";
        snprintf(counts[side], sizeof counts[side], "%d", headers[side]->cpu_count);
        kept_words(s, kept[side], sizeof kept[side]);
        snprintf(lost[side], sizeof lost[side], "%llu", (unsigned long long)s->lost_total);
    }
    CM_TRY(note(d, NULL, "program", programs[0], programs[1]));
    CM_TRY(note_runtimes(d));
    CM_TRY(note_caveat(d, "system", headers[0]->os, headers[1]->os));
    CM_TRY(note_caveat(d, "processor", headers[0]->cpu, headers[1]->cpu));
    CM_TRY(note_caveat(d, "processors", counts[0], counts[1]));
    CM_TRY(an_diff_note_machine(d));
    CM_TRY(note(d, NULL, "operators recorded", kept[0], kept[1]));
    CM_TRY(note(d, NULL, "lost events", lost[0], lost[1]));
    return note(d, NULL, "ortscope", headers[0]->ortscope_version, headers[1]->ortscope_version);
}

// -------------------------------------------------------------------------------------- of a model

typedef struct option {
    const char *key, *value; // not terminated
    size_t key_len, value_len;
} option;

static size_t read_options(const char *text, option *out)
{
    size_t count = 0;
    while (*text && count < MAX_OPTIONS) {
        size_t len = strcspn(text, "\n"), key_len = strcspn(text, "=\n");
        if (key_len < len)
            out[count++] = (option){text, text + key_len + 1, key_len, len - key_len - 1};
        text += len + (text[len] == '\n');
    }
    return count;
}

static const option *find_option(const option *options, size_t count, const option *like)
{
    for (size_t i = 0; i < count; i++)
        if (options[i].key_len == like->key_len &&
            memcmp(options[i].key, like->key, like->key_len) == 0)
            return &options[i];
    return NULL;
}

static cm_status note_option(an_diff *d, const an_diff_group *g, const option *key,
                             const option *old_option, const option *new_option)
{
    const option *options[2] = {old_option, new_option};
    char *texts[3] = {copy(key->key, key->key_len), NULL, NULL};
    for (int side = 0; side < 2; side++)
        texts[side + 1] = options[side] ? copy(options[side]->value, options[side]->value_len)
                                        : copy("not set", 7);
    cm_status status = texts[0] && texts[1] && texts[2] ? note(d, g, texts[0], texts[1], texts[2])
                                                        : an_no_memory();
    for (int i = 0; i < 3; i++)
        free(texts[i]);
    return status;
}

static cm_status note_options(an_diff *d, const an_diff_group *g, const char *old_text,
                              const char *new_text)
{
    option a[MAX_OPTIONS], b[MAX_OPTIONS];
    size_t a_count = read_options(old_text, a), b_count = read_options(new_text, b);
    for (size_t i = 0; i < a_count; i++)
        CM_TRY(note_option(d, g, &a[i], &a[i], find_option(b, b_count, &a[i])));
    for (size_t i = 0; i < b_count; i++)
        if (!find_option(a, a_count, &b[i]))
            CM_TRY(note_option(d, g, &b[i], NULL, &b[i]));
    return CM_OK;
}

// The inputs that most runs had; "" where they are not known.
static void usual_inputs(const an_summary *s, const an_session *n, cm_out *out)
{
    const an_shape *shape = n->shape_count ? an_shapes_find(&s->shapes, n->shapes[0].shape) : NULL;
    if (shape)
        an_shape_text(out, shape);
}

static cm_status note_inputs(an_diff *d, const an_diff_group *g, const an_session *sessions[2])
{
    cm_out texts[2];
    char counts[2][32];
    for (int side = 0; side < 2; side++) {
        cm_out_init_memory(&texts[side]);
        usual_inputs(d->sides[side], sessions[side], &texts[side]);
        snprintf(counts[side], sizeof counts[side], "%zu", sessions[side]->shape_count);
    }
    cm_status status =
        note(d, g, "usual inputs", cm_out_string(&texts[0]), cm_out_string(&texts[1]));
    if (status == CM_OK)
        status = note(d, g, "different input shapes", counts[0], counts[1]);
    cm_out_deinit(&texts[0]);
    cm_out_deinit(&texts[1]);
    return status;
}

static cm_status note_model(an_diff *d, const an_diff_group *g)
{
    const an_session *n[2] = {g->parts[0].sessions[0], g->parts[1].sessions[0]};
    char bytes[2][32], sessions[2][32], in_flight[2][32];
    for (int side = 0; side < 2; side++) {
        snprintf(bytes[side], sizeof bytes[side], "%lld", (long long)n[side]->model_bytes);
        snprintf(sessions[side], sizeof sessions[side], "%zu", g->parts[side].session_count);
        snprintf(in_flight[side], sizeof in_flight[side], "%lld",
                 (long long)n[side]->in_flight_max);
    }
    const char *names[2] = {an_file_name(n[0]->model), an_file_name(n[1]->model)};
    CM_TRY(note(d, g, "model", names[0], names[1]));
    CM_TRY(note(d, g, "model bytes", bytes[0], bytes[1]));
    if (strcmp(bytes[0], bytes[1]) == 0 && n[0]->model_hash != n[1]->model_hash &&
        n[0]->model_hash && n[1]->model_hash)
        CM_TRY(note(d, g, "model contents", "one hash", "another hash"));
    CM_TRY(note(d, g, "sessions", sessions[0], sessions[1]));
    CM_TRY(note(d, g, "providers", n[0]->providers, n[1]->providers));
    CM_TRY(note_options(d, g, n[0]->options, n[1]->options));
    CM_TRY(note_inputs(d, g, n));
    return note(d, g, "most runs at once", in_flight[0], in_flight[1]);
}

cm_status an_diff_find_notes(an_diff *d, const tm_header *old_header, const tm_header *new_header)
{
    CM_TRY(note_recordings(d, (const tm_header *[]){old_header, new_header}));
    for (size_t i = 0; i < d->matched_count; i++)
        CM_TRY(note_model(d, &d->groups[i]));
    return CM_OK;
}

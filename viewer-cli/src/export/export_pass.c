// SPDX-License-Identifier: MIT
// Passes over the input, and the pass that makes tables (see export.h).
#include "export.h"

#include "table_writer.h"
#include "timeline_input.h"

#include <stdio.h>

cm_status vw_ex_open_pass(vw_ex_job *job, uint64_t kinds, tm_reader **out)
{
    CM_TRY(vw_open_timeline(job->input, out));
    tm_reader_only(*out, kinds);
    return CM_OK;
}

cm_status vw_ex_next(vw_ex_job *job, tm_reader *reader, tm_block *block)
{
    uint64_t done, total;
    if (cm_out_failed(&job->output.out))
        return job->output.out.status;
    cm_status status = vw_ex_read(reader, job->given_up, block);
    if (status == CM_OK && job->progress.what) {
        tm_reader_progress(reader, &done, &total);
        vw_progress_show(&job->progress, done, total);
    }
    if (status == CM_END && tm_reader_damage(reader))
        snprintf(job->damage, sizeof job->damage, "%s", tm_reader_damage(reader));
    return status;
}

static bool is_wanted(const vw_ex_job *job, const vw_ex_table *t, const tm_block *b, size_t row)
{
    const vw_ex_range *r = &job->range;
    if (t->time_column >= 0 && !vw_ex_in_range(r, b->columns[t->time_column][row]))
        return false;
    return !r->has_session || t->session_column < 0 ||
           b->columns[t->session_column][row] == r->session;
}

static cm_status next_part(vw_ex_job *job, vw_ex_table_writer *w, const vw_ex_table *table)
{
    w->end_table(w);
    w->end(w);
    CM_TRY(vw_ex_output_close(&job->output));
    CM_TRY(vw_ex_output_open(&job->output));
    w->begin(w, tm_reader_header(job->facts.reader));
    w->begin_table(w, table);
    return CM_OK;
}

static bool is_full(const vw_ex_job *job, const vw_ex_table_writer *w)
{
    const vw_ex_output *o = &job->output;
    if (!o->split_bytes)
        return false;
    size_t pending = w->pending_bytes ? w->pending_bytes(w) : 0;
    return o->part_bytes + o->out.buf.len + pending >= o->split_bytes;
}

static cm_status write_rows(vw_ex_job *job, vw_ex_table_writer *w, const vw_ex_table *table,
                            tm_reader *reader)
{
    vw_ex_cell cells[VW_EX_MAX_COLUMNS];
    tm_block block;
    cm_status status;
    bool full = false;
    while ((status = vw_ex_next(job, reader, &block)) == CM_OK) {
        for (size_t row = 0; row < block.row_count; row++) {
            if (!is_wanted(job, table, &block, row))
                continue;
            if (full)
                CM_TRY(next_part(job, w, table));
            table->fill(&job->facts, reader, &block, row, cells);
            w->row(w, cells);
            job->rows++;
            full = is_full(job, w);
        }
    }
    return status == CM_END ? CM_OK : status;
}

static cm_status write_table(vw_ex_job *job, vw_ex_table_writer *w, const vw_ex_table *table)
{
    tm_reader *reader;
    CM_TRY(vw_ex_open_pass(job, (uint64_t)1 << table->kind, &reader));
    w->begin_table(w, table);
    cm_status status = write_rows(job, w, table, reader);
    tm_reader_close(reader);
    if (status == CM_OK)
        w->end_table(w);
    return status;
}

cm_status vw_ex_run_tables(vw_ex_job *job)
{
    vw_ex_table_writer *w = NULL;
    cm_out *out = &job->output.out;
    cm_status status = job->format == VW_EX_CSV    ? vw_ex_csv_create(out, &w)
                       : job->format == VW_EX_JSON ? vw_ex_json_create(out, &w)
                                                   : vw_ex_parquet_create(out, job->gzip, &w);
    CM_TRY(status);
    status = vw_ex_output_open(&job->output);
    if (status == CM_OK)
        w->begin(w, tm_reader_header(job->facts.reader));
    if (job->table || job->format != VW_EX_JSON) {
        if (status == CM_OK)
            status = write_table(job, w, job->table ? job->table : &vw_ex_tables[0]);
    } else {
        for (size_t t = 0; t < vw_ex_table_count && status == CM_OK; t++)
            status = write_table(job, w, &vw_ex_tables[t]);
    }
    if (status == CM_OK) {
        w->end(w);
        status = vw_ex_output_close(&job->output);
    }
    w->destroy(w);
    return status;
}

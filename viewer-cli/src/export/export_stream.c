// SPDX-License-Identifier: MIT
#include "export_stream.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    bool takes_table;
    cm_status (*run)(vw_ex_job *job);
} formats[VW_EX_FORMAT_COUNT] = {
    [VW_EX_CHROME] = {"chrome", false, vw_ex_run_trace},
    [VW_EX_PERFETTO] = {"perfetto", false, vw_ex_run_trace},
    [VW_EX_CSV] = {"csv", true, vw_ex_run_tables},
    [VW_EX_JSON] = {"json", true, vw_ex_run_tables},
    [VW_EX_PARQUET] = {"parquet", true, vw_ex_run_tables},
    [VW_EX_SPEEDSCOPE] = {"speedscope", false, vw_ex_run_speedscope},
};

static cm_status choose(vw_ex_job *job, const char *format, const char *table)
{
    size_t at = 0;
    while (at < VW_EX_FORMAT_COUNT && strcmp(formats[at].name, format) != 0)
        at++;
    if (at == VW_EX_FORMAT_COUNT)
        return cm_fail(CM_USAGE, "There is no such format.");
    job->format = (vw_ex_format)at;
    if (!table)
        return CM_OK;
    if (!formats[at].takes_table)
        return cm_fail(CM_USAGE, "\"table\" is for csv, json and parquet.");
    for (size_t i = 0; i < vw_ex_table_count && !job->table; i++)
        if (strcmp(vw_ex_tables[i].name, table) == 0)
            job->table = &vw_ex_tables[i];
    return job->table ? CM_OK : cm_fail(CM_USAGE, "There is no such table.");
}

static cm_status run(vw_ex_job *job, vw_io *io)
{
    if (job->range.has_session && !vw_ex_find_session(&job->facts, job->range.session))
        return cm_fail(CM_USAGE, "There is no session %lld.", (long long)job->range.session);
    vw_ex_output_init(&job->output, io, NULL, "", 0, false);
    cm_status status = formats[job->format].run(job);
    vw_ex_output_deinit(&job->output, true);
    return status == CM_OK ? cm_out_flush(&io->out) : status;
}

cm_status vw_ex_stream(const char *input, const char *format, const char *table, vw_ex_range range,
                       const atomic_bool *given_up, cm_write_fn write, void *to)
{
    vw_ex_job *job = calloc(1, sizeof *job);
    vw_io io = {.width = 100};
    if (!job)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory to export.");
    cm_out_init_sink(&io.out, write, to);
    job->input = input;
    job->range = range;
    job->given_up = given_up;
    cm_status status = choose(job, format, table);
    if (status == CM_OK)
        status = vw_ex_facts_read(input, given_up, &job->facts);
    if (status == CM_OK)
        status = run(job, &io);
    vw_ex_facts_deinit(&job->facts);
    cm_out_deinit(&io.out);
    free(job);
    return status;
}

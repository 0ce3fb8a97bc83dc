// SPDX-License-Identifier: MIT
// Measurements of the QNN provider in a recording, as counters: what qnn.c does live.
#include "etl_rows.h"

#include "qnn.h"
#include "series.h"

#include <string.h>

static int64_t text_id(etl_import *m, const char *text)
{
    return tm_writer_string(m->writer, text, strlen(text));
}

// The lane's number, with its row on first sight; 0 if there are too many.
static uint32_t lane_of(etl_import *m, const co_counter *what, int64_t ns)
{
    int64_t key = co_series_key(what);
    size_t at = m->qnn_lanes.count;
    if (cm_map_find(&m->qnn_lanes, key, &at))
        return CO_QNN_FIRST_ID + CO_QNN_LANES + (uint32_t)at;
    if (at == CO_QNN_LANES || !cm_map_put(&m->qnn_lanes, key, at))
        return 0;
    uint32_t id = CO_QNN_FIRST_ID + CO_QNN_LANES + (uint32_t)at;
    const int64_t row[] = {[TM_counter_counter] = id,
                           [TM_counter_time] = ns,
                           [TM_counter_source] = text_id(m, what->source),
                           [TM_counter_name] = text_id(m, what->name),
                           [TM_counter_unit] = text_id(m, what->unit),
                           [TM_counter_per_unit] = what->per_unit,
                           [TM_counter_total] = what->total,
                           [TM_counter_about] = what->about,
                           [TM_counter_process] = what->process,
                           [TM_counter_number] = what->number,
                           [TM_counter_subject] = text_id(m, what->subject)};
    co_etl_row(m, TM_KIND_counter, row);
    return id;
}

void co_etl_write_qnn(void *context, const etl_life *process, int64_t time, const char *fields,
                      size_t len)
{
    etl_import *m = context;
    co_qnn_value v;
    if (!co_qnn_parse(fields, len, &v))
        return;
    int64_t ns = co_etl_ns(m->header, time);
    co_counter what = co_qnn_lane(&v, process->number);
    uint32_t id = lane_of(m, &what, ns);
    const int64_t row[] = {[TM_sample_counter] = id,
                           [TM_sample_time] = ns,
                           [TM_sample_value] = v.value,
                           [TM_sample_known] = 1};
    if (id)
        co_etl_row(m, TM_KIND_sample, row);
    else
        m->stats.no_room++;
}

// SPDX-License-Identifier: MIT
// A recording from anywhere: all that `ortscope import` does with it, in both orders, must end
// within bounds; and both orders must hand out the same number of events.
#include "collector/etl_census.h"
#include "collector/etl_import.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

typedef struct look {
    co_etl_census *census;
    co_etl_people *people;
    uint64_t by_time;
} look;

static bool first(void *context, const co_etl_event *e)
{
    look *l = context;
    co_etl_census_event(l->census, e);
    co_etl_people_event(l->people, e);
    return true;
}

static void buffer(void *context, const co_etl_buffer *b)
{
    co_etl_census_buffer(((look *)context)->census, b);
}

static void damage(void *context, const char *sentence)
{
    co_etl_census_damage(((look *)context)->census, sentence);
}

static bool second(void *context, const co_etl_event *e)
{
    (void)e;
    ((look *)context)->by_time++;
    return true;
}

static void print(const co_etl_census *census)
{
    cm_out out;
    cm_json j;
    cm_out_init_memory(&out);
    cm_json_init(&j, &out);
    cm_json_begin_object(&j, CM_JSON_INDENTED);
    co_etl_census_json(census, &j);
    cm_json_end(&j);
    cm_out_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    co_etl *e = NULL;
    look l = {0};
    co_etl_import_stats stats;
    co_etl_import_options options = {.output = "/dev/null"};
    co_etl_visitor by_file = {&l, first, buffer, damage, NULL};
    co_etl_visitor by_time = {.context = &l, .event = second};
    if (co_etl_open_memory(data, len, &e) != CM_OK)
        return 0;
    if (co_etl_census_create(co_etl_header_of(e), &l.census) != CM_OK ||
        co_etl_people_create(true, &l.people) != CM_OK ||
        co_etl_read(e, CO_ETL_BY_FILE, &by_file) != CM_OK)
        abort();
    print(l.census);
    if (co_etl_read(e, CO_ETL_BY_TIME, &by_time) == CM_OK &&
        l.by_time != co_etl_census_events(l.census))
        abort();
    co_etl_import(e, l.people, &options, &stats);
    co_etl_census_destroy(l.census);
    co_etl_people_destroy(l.people);
    co_etl_close(e);
    return 0;
}

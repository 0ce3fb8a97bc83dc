// SPDX-License-Identifier: MIT
// One record in a buffer: its header, in all the forms that there are, to a co_etl_event.
#pragma once

#include "collector/etl.h"

typedef enum etl_record_result {
    ETL_RECORD,         // `out` is filled
    ETL_RECORD_DAMAGED, // the same, but a part of it had to be passed over
    ETL_RECORD_END,     // filler: the buffer's records end here
    ETL_RECORD_BROKEN,  // no record: what follows in this buffer is lost
} etl_record_result;

// `at` is the offset of the record in the buffer, `used` where the records end. *next is the offset
// of the next one; *problem a few words where the result is damaged or broken.
etl_record_result co_etl_record_parse(const uint8_t *buffer, size_t used, size_t at, uint16_t cpu,
                                      co_etl_event *out, size_t *next, const char **problem);

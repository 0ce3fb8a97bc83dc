// SPDX-License-Identifier: MIT
// One column of a row group of a Parquet file: its values as they are gathered, and their pages.
#pragma once

#include "common/buf.h"
#include "common/map.h"
#include "export_tables.h"

#define VW_PQ_ROWS 65536 // of a row group, at most

enum { VW_PQ_PLAIN = 0, VW_PQ_RLE = 3, VW_PQ_RLE_DICTIONARY = 8 };

typedef struct vw_pq_column {
    vw_ex_type type;
    bool optional;
    uint8_t *known;  // of each row
    int64_t *values; // of known rows: numbers, bits of reals, places in the dictionary
    size_t row_count, value_count;
    int64_t min, max; // of whole numbers
    // Texts: each once.
    cm_buf texts;     // behind each other
    uint32_t *starts; // of each in `texts`; one more than there are
    size_t text_count;
    cm_map by_hash;
} vw_pq_column;

cm_status vw_pq_column_init(vw_pq_column *c, const vw_ex_column *like);
void vw_pq_column_deinit(vw_pq_column *c);
void vw_pq_column_clear(vw_pq_column *c);
cm_status vw_pq_column_add(vw_pq_column *c, const vw_ex_cell *cell);
size_t vw_pq_column_bytes(const vw_pq_column *c); // about, as they will stand in a file

// Whether its page refers to a dictionary page before it.
bool vw_pq_has_dictionary(const vw_pq_column *c);
// What the pages hold, uncompressed and without their heads.
void vw_pq_dictionary_page(const vw_pq_column *c, cm_buf *out);
void vw_pq_data_page(const vw_pq_column *c, cm_buf *out);

// Whole numbers below 1 << bits as Parquet's mixture of runs and packed bits; for tests too.
void vw_pq_pack(const int64_t *values, size_t count, unsigned bits, cm_buf *out);

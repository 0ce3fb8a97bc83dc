// SPDX-License-Identifier: MIT
// A stream of bytes through zlib: as a .gz file, or whole pages of a Parquet file at once.
#pragma once

#include "common/buf.h"
#include "common/out.h"

typedef struct vw_gzip vw_gzip;

// What comes out goes to `write`.
cm_status vw_gzip_create(cm_write_fn write, void *context, vw_gzip **out);
cm_status vw_gzip_write(vw_gzip *g, const void *bytes, size_t len);
cm_status vw_gzip_finish(vw_gzip *g);
void vw_gzip_destroy(vw_gzip *g); // NULL is allowed

// One whole .gz in memory, behind what `out` holds already.
cm_status vw_gzip_block(const void *bytes, size_t len, cm_buf *out);

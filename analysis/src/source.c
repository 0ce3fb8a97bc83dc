// SPDX-License-Identifier: MIT
#include "analysis/source.h"

cm_status an_source_read(const an_source *source, uint64_t mask, void *context,
                         cm_status (*take)(void *context, const tm_reader *reader,
                                           const tm_block *block))
{
    return an_source_read_times(source, mask, context, NULL, take);
}

cm_status an_source_read_times(const an_source *source, uint64_t mask, void *context,
                               tm_wanted *wanted,
                               cm_status (*take)(void *context, const tm_reader *reader,
                                                 const tm_block *block))
{
    tm_reader *reader = NULL;
    tm_block block;
    CM_TRY(source->open(source->context, &reader));
    tm_reader_only(reader, mask);
    tm_reader_only_times(reader, context, wanted);
    cm_status status;
    while ((status = tm_reader_next(reader, &block)) == CM_OK) {
        status = take(context, reader, &block);
        if (status != CM_OK)
            break;
    }
    tm_reader_close(reader);
    return status == CM_END ? CM_OK : status;
}

bool an_source_has(const an_source *source, uint64_t mask)
{
    tm_reader *reader = NULL;
    tm_block block;
    if (source->open(source->context, &reader) != CM_OK)
        return false;
    tm_reader_only(reader, mask);
    bool any = tm_reader_next(reader, &block) == CM_OK && block.row_count > 0;
    tm_reader_close(reader);
    return any;
}

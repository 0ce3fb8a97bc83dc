// SPDX-License-Identifier: MIT
// For tests in other languages: writes timelines by our writer, prints any timeline as our reader
// sees it.
//
//   timeline_tool sample FILE    every kind of row, extreme values
//   timeline_tool example FILE   the worked example of docs/timeline-format.md
//   timeline_tool print FILE     one line for the header, one per row, one for the end
#include "timeline_sample.h"

#include "common/os.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static cm_status write_example(const char *path)
{
    tm_header header = {"0.1.0", 1790000000000000000u, "Windows 10.0.19045", "Example CPU", 8};
    tm_writer *w;
    CM_TRY(tm_writer_create(path, &header, &w));
    int64_t text = tm_writer_string(w, "warm", 4);
    tm_writer_row(w, TM_KIND_run,
                  (int64_t[TM_run_COUNT]){1, 41, 9000, 5000000, 1400123, 0, 0, 1, 1, 2});
    tm_writer_row(w, TM_KIND_run,
                  (int64_t[TM_run_COUNT]){1, 42, 9000, 6500250, 1398999, 0, 0, 1, 1, 2});
    tm_writer_row(w, TM_KIND_run,
                  (int64_t[TM_run_COUNT]){1, 43, 9000, 8000100, 60000, 0, 0, 1, 1, 2});
    tm_writer_row(w, TM_KIND_mark, (int64_t[TM_mark_COUNT]){9000000, text});
    return tm_writer_close(w);
}

static void print_text(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
            printf("\\x%02x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void print_value(const tm_reader *r, const tm_column *column, int64_t value)
{
    printf(" %s=", column->name);
    if (column->type == TM_U64)
        printf("%" PRIu64, (uint64_t)value);
    else
        printf("%" PRId64, value);
    if (column->type == TM_STR) {
        putchar(':');
        print_text(tm_reader_string(r, value));
    }
}

static cm_status print_file(const char *path)
{
    tm_reader *r;
    tm_block block;
    cm_status status;
    CM_TRY(tm_reader_open(path, &r));
    const tm_header *header = tm_reader_header(r);
    printf("header ortscope=");
    print_text(header->ortscope_version);
    printf(" start_utc_ns=%" PRIu64 " os=", header->start_utc_ns);
    print_text(header->os);
    printf(" cpu=");
    print_text(header->cpu);
    printf(" cpu_count=%d\n", header->cpu_count);
    while ((status = tm_reader_next(r, &block)) == CM_OK) {
        const tm_kind_info *info = tm_kind_get(block.kind);
        for (size_t row = 0; row < block.row_count; row++) {
            printf("%s", info->name);
            for (unsigned i = 0; i < info->column_count; i++)
                print_value(r, &info->columns[i], block.columns[i][row]);
            putchar('\n');
        }
    }
    puts(tm_reader_damage(r) ? "incomplete" : "complete");
    if (tm_reader_damage(r))
        fprintf(stderr, "%s\n", tm_reader_damage(r));
    tm_reader_close(r);
    return status == CM_END ? CM_OK : status;
}

int main(int argc, char **argv)
{
    cm_status status = CM_USAGE;
    cm_console_init();
    if (argc == 3 && strcmp(argv[1], "sample") == 0)
        status = sample_write(argv[2]);
    else if (argc == 3 && strcmp(argv[1], "example") == 0)
        status = write_example(argv[2]);
    else if (argc == 3 && strcmp(argv[1], "print") == 0)
        status = print_file(argv[2]);
    if (status != CM_OK)
        fprintf(stderr, "%s\n", cm_error_text(status));
    return cm_exit_code(status);
}

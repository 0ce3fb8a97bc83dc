// SPDX-License-Identifier: MIT
// See file_format.h. Looks only at bytes that are there; being wrong costs no more than a
// misleading sentence.
#include "common/file_format.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define UNPACK "Unpack it first."
#define RECORD "Record one with `ortscope run -- PROGRAM`."

static bool holds(const uint8_t *bytes, size_t len, size_t at, const char *mark, size_t mark_len)
{
    return at + mark_len <= len && memcmp(bytes + at, mark, mark_len) == 0;
}

static bool mentions(const uint8_t *bytes, size_t len, const char *word)
{
    size_t word_len = strlen(word);
    for (size_t at = 0; at + word_len <= len; at++)
        if (memcmp(bytes + at, word, word_len) == 0)
            return true;
    return false;
}

// ------------------------------------------------------------------------------- fixed first bytes

static const cm_file_format *by_mark(const uint8_t *bytes, size_t len)
{
    static const struct {
        size_t at;
        const char *mark;
        size_t mark_len;
        cm_file_format format;
    } marks[] = {
        {1,
         "\xa5magic\xa4ortl",
         11,
         {"a timeline of ortscope (.ortl)", "`ortscope summary` reads it."}},
        {3,
         "\xa5magic\xa4ortl",
         11,
         {"a timeline of ortscope (.ortl)", "`ortscope summary` reads it."}},
        {0, "PK\3\4", 4, {"a ZIP archive", UNPACK}},
        {0, "\x1f\x8b", 2, {"compressed by gzip", UNPACK}},
        {0, "\x28\xb5\x2f\xfd", 4, {"compressed by zstd", UNPACK}},
        {0, "7z\xbc\xaf\x27\x1c", 6, {"a 7-Zip archive", UNPACK}},
        {0,
         "\xfd"
         "7zXZ",
         5,
         {"compressed by xz", UNPACK}},
        {0, "MSCF", 4, {"a Windows cabinet", UNPACK}},
        {0, "PAR1", 4, {"a Parquet file", ""}},
        {0, "SQLite format 3", 15, {"an SQLite database", ""}},
        {0, "MZ", 2, {"a program or library of Windows", RECORD}},
        {0,
         "\x7f"
         "ELF",
         4,
         {"a program or library of Linux", ""}},
        {0, "MDMP", 4, {"a crash dump", ""}},
        {0, "%PDF", 4, {"a PDF document", ""}},
        {0, "\x89PNG", 4, {"a picture", ""}},
        {0, "\xff\xfe", 2, {"text in UTF-16", ""}},
    };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (holds(bytes, len, marks[i].at, marks[i].mark, marks[i].mark_len))
            return &marks[i].format;
    return NULL;
}

// ---------------------------------------------------------------------------- shapes of the bytes

// A buffer of event tracing that describes the recording: its size, how much of it is used, its
// kind, and the mark of its first record.
static bool is_recording(const uint8_t *b, size_t len)
{
    if (len < 0x4c)
        return false;
    uint32_t size =
        (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    return size >= 1024 && size <= 16u << 20 && size % 1024 == 0 && b[0x36] == 4 && b[0x37] == 0 &&
           b[0x4b] == 0xc0;
}

// ModelProto: the version of its format, then the name of who made it.
static bool is_model(const uint8_t *b, size_t len)
{
    return len > 8 && b[0] == 8 && b[1] >= 1 && b[1] <= 30 && b[2] == 0x12 && b[3] >= 1 &&
           b[3] <= 60 && b[4] > ' ' && b[4] < 0x7f;
}

static bool is_text(const uint8_t *b, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (b[i] < ' ' && b[i] != '\n' && b[i] != '\r' && b[i] != '\t')
            return false;
    return len > 0;
}

static const cm_file_format *json_format(const uint8_t *b, size_t len)
{
    static const cm_file_format profile = {"ONNX Runtime's own profile (JSON)",
                                           "ortscope makes its own recordings: `ortscope run -- "
                                           "PROGRAM`, without ONNX Runtime's profiler."};
    static const cm_file_format trace = {"a trace for Chrome or Perfetto (JSON)", RECORD};
    static const cm_file_format ours = {"JSON that ortscope has printed",
                                        "Give it the recording that this was made from."};
    static const cm_file_format other = {"JSON", ""};
    if (mentions(b, len, "\"traceEvents\""))
        return &trace;
    if (mentions(b, len, "\"cat\"") && mentions(b, len, "\"dur\"") &&
        (mentions(b, len, "\"Session\"") || mentions(b, len, "\"Node\"")))
        return &profile;
    return mentions(b, len, "\"schema_version\"") ? &ours : &other;
}

const cm_file_format *cm_file_format_of(const void *data, size_t len)
{
    static const cm_file_format recording = {"a recording of Windows' event tracing (.etl)",
                                             "`ortscope import` makes a timeline of it."};
    static const cm_file_format model = {"an ONNX model",
                                         "Record a program that runs it: `ortscope run -- "
                                         "PROGRAM`."};
    static const cm_file_format page = {"a web page", ""};
    static const cm_file_format text = {"text", ""};
    const uint8_t *bytes = data;
    if (len > 4096)
        len = 4096;
    const cm_file_format *format = by_mark(bytes, len);
    if (format)
        return format;
    if (is_recording(bytes, len))
        return &recording;
    if (is_model(bytes, len))
        return &model;
    size_t at = holds(bytes, len, 0, "\xef\xbb\xbf", 3) ? 3 : 0;
    while (at < len && strchr(" \t\r\n", bytes[at]) && bytes[at])
        at++;
    if (!is_text(bytes, len))
        return NULL;
    if (at < len && (bytes[at] == '{' || bytes[at] == '['))
        return json_format(bytes, len);
    return at < len && bytes[at] == '<' ? &page : &text;
}

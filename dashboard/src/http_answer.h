// SPDX-License-Identifier: MIT
// A server's answer to our request, and what an OTLP receiver says in it: pure functions over
// hostile bytes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DA_HTTP_MOST 65536u // bytes of an answer that are looked at

typedef enum da_http_state { DA_HTTP_MORE, DA_HTTP_DONE, DA_HTTP_BROKEN } da_http_state;

typedef struct da_http_answer {
    int status;
    int64_t retry_after_s; // -1: not told as a number of seconds
    bool is_json;
    const char *body; // as far as it came; where it was chunked, its parts joined
    size_t body_len;
} da_http_answer;

// What came so far; `closed`: nothing more will come. With DA_HTTP_DONE the answer points into
// `bytes`, in which chunks have been joined. The head counts: a body that is cut or broken is given
// as far as it goes.
da_http_state da_http_parse(char *bytes, size_t len, bool closed, da_http_answer *out);

typedef struct da_otlp_answer {
    uint64_t rejected_points;
    char message[200]; // "" if there is none; UTF-8
} da_otlp_answer;

// ExportMetricsServiceResponse or Status as JSON; all zero where it is neither.
void da_otlp_answer_parse(const char *json, size_t len, da_otlp_answer *out);

// SPDX-License-Identifier: MIT
// The inputs that model_runner feeds.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

typedef struct runner_tensor {
    char name[64];
    int type;
    size_t rank, count;
    int64_t dims[8];
    void *data; // `times` as many elements as `count`
} runner_tensor;

// NAME=float:1,3,48,192 or NAME=int64::16000; false if it is neither.
bool runner_read_input(runner_tensor *t, const wchar_t *text, size_t times);

// SPDX-License-Identifier: MIT
// A timeline with a language model (session 1: three prompts, a cache that grows) and a session
// (2) that warms up, drifts and has two batch sizes with memory.
#include "gold_maker.h"

#include <stdio.h>

static int64_t g_shape;

static int64_t decoder_inputs(int64_t length, int64_t cache)
{
    char ids[32], mask[32], past[48];
    int64_t shape = ++g_shape;
    snprintf(ids, sizeof ids, "1,%lld", (long long)length);
    snprintf(mask, sizeof mask, "1,%lld", (long long)(cache + length));
    snprintf(past, sizeof past, "1,8,%lld,64", (long long)cache);
    ROW(shape, shape, 1, 0, 3, 1);
    ROW(tensor, shape, 0, text("input_ids"), 1, 7, text(ids));
    ROW(tensor, shape, 1, text("attention_mask"), 1, 7, text(mask));
    ROW(tensor, shape, 2, text("past_key_values.0.key"), 1, 1, text(past));
    return shape;
}

static int64_t sentence(int64_t *number, int64_t at, int64_t prompt, int64_t tokens)
{
    int64_t duration = prompt * 4 * MS + random_below(5 * MS);
    ROW(run, 1, ++*number, 100, at, duration, 0, 0, 1, decoder_inputs(prompt, 0), 0);
    at += duration + MS;
    for (int64_t i = 0; i < tokens; i++) {
        duration = 20 * MS + i * 50 * US + random_below(2 * MS);
        ROW(run, 1, ++*number, 100, at, duration, 0, 0, 1, decoder_inputs(1, prompt + i), 0);
        at += duration + MS;
    }
    return at;
}

static void drifting_runs(void)
{
    int64_t at = 100 * MS, small = ++g_shape, large = ++g_shape;
    input_shape(small, 2, 1, "1,3,32,32");
    input_shape(large, 2, 4, "4,3,32,32");
    for (int64_t i = 1; i <= 400; i++) {
        int64_t duration = 2 * MS + i * 2 * US + random_below(200 * US);
        duration += i <= 12 ? 20 * MS : 0;
        ROW(run, 2, i, 101, at, duration, 0, 0, 1, i % 10 ? small : large, 0);
        ROW(run_memory, 2, i, at + duration, 1000, 1000, i % 10 ? 1000000 : 4000000, 0, 1, 1, 0);
        at += duration + MS;
    }
}

void make_generation(void)
{
    int64_t number = 0, at = 200 * MS;
    g_shape = 0;
    begin("generation.ortl");
    process_and_module();
    session(1, 50 * MS, "models/decoder_model_merged.onnx", "CPUExecutionProvider");
    session(2, 60 * MS, "models/drifts.onnx", "CPUExecutionProvider");
    at = sentence(&number, at, 12, 40);
    at = sentence(&number, at, 30, 25);
    sentence(&number, at, 5, 60);
    drifting_runs();
    ROW(process_end, 1, 9000 * MS, 0, 0);
    end();
}

// SPDX-License-Identifier: MIT
// Language models that make one token after the other, found by the shapes of a session's inputs
// alone: a program says nothing about it.
//
// - A step: all dimensions that changed since the run before grew by one, and one of them is not
//   the first of its tensor (that would be the batch): a sequence or a cache became longer.
// - The prompt: the run before the first step. Where its own inputs are longer (input [1, 12], then
//   [1, 1] with a cache grown by 12), that is the cache's beginning; runs of equally long inputs
//   whose cache grows by that length are a prompt in pieces.
// - A sequence counts once it has AN_FEWEST_STEPS steps: shapes that grow by one now and then are
// no
//   generation. Several may be under way at once.
// - first token: from the begin of the prompt's first run to the end of its last. between tokens:
//   from one run's end to the next one's, with what the program does in between. tokens per second:
//   of the steps, by the time between tokens; with a batch of n a step makes n tokens.
// Caches of a fixed size, where no shape grows, are not seen.
#pragma once

#include "analysis/shapes.h"
#include "common/histogram.h"

#include <stdbool.h>

#define AN_FEWEST_STEPS   4
#define AN_OPEN_SEQUENCES 16

typedef struct an_sequence {
    int64_t shape, begin_ns, end_ns; // of its last run; 0: this place is free
    int64_t prompt_ns;
    uint64_t steps;
    uint64_t early_ns[AN_FEWEST_STEPS], early_run_ns[AN_FEWEST_STEPS]; // until it counts
} an_sequence;

// Runs of different threads are not in order of time in a file: so many wait to be put in order.
#define AN_WAITING_RUNS 128

typedef struct an_waiting_run {
    int64_t inputs, begin_ns, duration_ns;
} an_waiting_run;

typedef struct an_generation {
    an_waiting_run waiting[AN_WAITING_RUNS]; // by begin
    size_t waiting_count;
    an_sequence open[AN_OPEN_SEQUENCES];
    uint64_t sequences, steps, tokens;               // tokens: of the prompts' first ones too
    cm_histogram first_token_ns, between_ns, run_ns; // run: of the steps alone
    double step_tokens, between_sum_ns;
} an_generation;

void an_generation_init(an_generation *g);
void an_generation_deinit(an_generation *g);

// A successful run.
void an_generation_add(an_generation *g, const an_shapes *shapes, int64_t inputs, int64_t begin_ns,
                       int64_t duration_ns);

void an_generation_finish(an_generation *g, const an_shapes *shapes); // after the last run

double an_generation_tokens_per_s(const an_generation *g); // NAN: there are none

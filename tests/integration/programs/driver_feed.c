// SPDX-License-Identifier: MIT
// Inputs and outputs of the models: what is fed, how it is spoilt for a failing run, what is
// expected, and how values are described and hashed.
#include "driver.h"

#include <stdlib.h>
#include <string.h>

typedef struct tensor_spec {
    const char *name;
    int type; // 0: not a tensor
    size_t rank;
    int64_t dims[4];
} tensor_spec;

static size_t element_size(int type)
{
    return type == ORT_FLOAT ? 4 : 8;
}

static size_t element_count(const tensor_spec *spec)
{
    size_t count = 1;
    for (size_t i = 0; i < spec->rank; i++)
        count *= (size_t)spec->dims[i];
    return count;
}

static void fill(drv_random *random, int type, int bound, void *data, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int value = drv_below(random, bound);
        if (type == ORT_FLOAT)
            ((float *)data)[i] = (float)(value - bound / 2) / 64.0f;
        else
            ((int64_t *)data)[i] = value;
    }
}

// Names and shapes of a model's inputs and outputs for this batch and length.
static void specs(const drv_feed *feed, tensor_spec in[DRV_TENSORS], tensor_spec out[DRV_TENSORS])
{
    int64_t batch = feed->batch, length = feed->length;
    switch (feed->model) {
    case DRV_AFFINE:
        in[0] = (tensor_spec){"X", ORT_FLOAT, 2, {batch, 4}};
        in[1] = (tensor_spec){"S", ORT_FLOAT, 2, {batch, 3}};
        out[0] = (tensor_spec){"Y", ORT_FLOAT, 2, {batch, 3}};
        out[1] = (tensor_spec){"Z", ORT_FLOAT, 2, {batch, 3}};
        break;
    case DRV_COUNTS:
        in[0] = (tensor_spec){"A", ORT_INT64, 2, {batch, length}};
        out[0] = (tensor_spec){"doubled", ORT_INT64, 2, {batch, length}};
        out[1] = (tensor_spec){"total", ORT_INT64, 1, {batch}};
        break;
    case DRV_PICK:
        in[0] = (tensor_spec){"I", ORT_INT64, 1, {length}};
        out[0] = (tensor_spec){"picked", ORT_FLOAT, 1, {length}};
        break;
    case DRV_PIECES:
        in[0] = (tensor_spec){"P", ORT_FLOAT, 2, {batch, 4}};
        in[1] = (tensor_spec){"scale", ORT_FLOAT, 0, {0}};
        out[0] = (tensor_spec){"parts", 0, 0, {0}};
        out[1] = (tensor_spec){"scaled", ORT_FLOAT, 2, {batch, 4}};
        break;
    default:
        in[0] = (tensor_spec){"X", ORT_FLOAT, 2, {batch, 4}};
        out[0] = (tensor_spec){"Y", ORT_FLOAT, 2, {batch, 4}};
        break;
    }
}

static void make_input(drv_worker *worker, drv_feed *feed, size_t at, const tensor_spec *spec,
                       bool out_of_range)
{
    drv_runtime *runtime = worker->runtime;
    size_t count = element_count(spec), size = count * element_size(spec->type);
    int bound = feed->model == DRV_PICK ? 5 : 2000;
    feed->in_names[at] = spec->name;
    if (drv_below(&worker->random, 2)) {
        feed->in_data[at] = drv_allocate(size);
        fill(&worker->random, spec->type, bound, feed->in_data[at], count);
        drv_must(runtime,
                 runtime->ort.CreateTensorWithDataAsOrtValue(runtime->cpu, feed->in_data[at], size,
                                                             spec->dims, spec->rank, spec->type,
                                                             &feed->in[at]),
                 "CreateTensorWithDataAsOrtValue");
    } else {
        drv_must(runtime,
                 runtime->ort.CreateTensorAsOrtValue(runtime->allocator, spec->dims, spec->rank,
                                                     spec->type, &feed->in[at]),
                 "CreateTensorAsOrtValue");
    }
    void *data = NULL;
    drv_must(runtime, runtime->ort.GetTensorMutableData(feed->in[at], &data), "GetTensorData");
    if (!feed->in_data[at])
        fill(&worker->random, spec->type, bound, data, count);
    if (out_of_range)
        ((int64_t *)data)[0] = 7;
}

static void spoil(drv_fault fault, tensor_spec *in, tensor_spec *out, drv_feed *feed)
{
    switch (fault) {
    case DRV_BAD_INPUT_NAME:
        in[0].name = "nope";
        break;
    case DRV_BAD_RANK:
        in[0].dims[in[0].rank++] = 1;
        break;
    case DRV_BAD_DIMENSION: // free in counts and pick: sound there
        if (in[0].rank == 2 && in[0].dims[1] == 4)
            in[0].dims[1] = 5;
        break;
    case DRV_BAD_TYPE:
        in[0].type = in[0].type == ORT_FLOAT ? ORT_INT64 : ORT_FLOAT;
        break;
    case DRV_BAD_OUTPUT_NAME:
        out[0].name = "nope";
        break;
    case DRV_NULL_OUTPUT_NAME:
        out[0].name = NULL;
        break;
    case DRV_EMPTY_OUTPUT_NAME:
        out[0].name = "";
        break;
    case DRV_MISSING_INPUT:
        feed->in_count--;
        break;
    default:
        break;
    }
}

void drv_feed_build(drv_worker *worker, drv_model model, drv_fault fault, drv_feed *out)
{
    static const int64_t batches[] = {1, 1, 2, 3, 8, 16};
    tensor_spec in[DRV_TENSORS] = {{0}}, expected[DRV_TENSORS] = {{0}};
    drv_feed *feed = out;
    memset(feed, 0, sizeof *feed);
    feed->model = model;
    feed->batch = batches[drv_below(&worker->random, 6)];
    feed->length = 1 + drv_below(&worker->random, 3);
    specs(feed, in, expected);
    while (feed->in_count < DRV_TENSORS && in[feed->in_count].name)
        feed->in_count++;
    size_t outputs = expected[1].name ? 2 : 1;
    spoil(fault, in, expected, feed);
    // Now and then only the last output is asked for.
    size_t first = fault == DRV_SOUND && outputs == 2 && drv_below(&worker->random, 4) == 0;
    for (size_t i = 0; i < feed->in_count; i++)
        make_input(worker, feed, i, &in[i],
                   i == 0 && model == DRV_PICK && fault == DRV_OUT_OF_RANGE);
    for (size_t i = first; i < outputs; i++)
        feed->out_names[feed->out_count++] = expected[i].name;
}

void drv_feed_preallocate(drv_worker *worker, drv_feed *feed)
{
    drv_runtime *runtime = worker->runtime;
    tensor_spec in[DRV_TENSORS] = {{0}}, out[DRV_TENSORS] = {{0}};
    specs(feed, in, out);
    for (size_t i = 0; i < feed->out_count; i++) {
        for (size_t k = 0; k < DRV_TENSORS; k++) {
            if (!out[k].name || !feed->out_names[i] || strcmp(out[k].name, feed->out_names[i]))
                continue;
            if (out[k].type)
                drv_must(runtime,
                         runtime->ort.CreateTensorAsOrtValue(runtime->allocator, out[k].dims,
                                                             out[k].rank, out[k].type,
                                                             &feed->out[i]),
                         "CreateTensorAsOrtValue");
        }
    }
}

void drv_feed_free(drv_runtime *runtime, drv_feed *feed)
{
    for (size_t i = 0; i < DRV_TENSORS; i++) {
        if (feed->in[i])
            runtime->ort.ReleaseValue(feed->in[i]);
        if (feed->out[i])
            runtime->ort.ReleaseValue(feed->out[i]);
        free(feed->in_data[i]);
    }
    memset(feed, 0, sizeof *feed);
}

// ------------------------------------------------------------------------- looking at values

typedef struct value_facts {
    int onnx_type, element_type;
    size_t rank;
    int64_t dims[8];
} value_facts;

static value_facts look_at(drv_runtime *runtime, const OrtValue *value)
{
    const ort_calls *ort = &runtime->ort;
    value_facts facts = {0};
    OrtShapeInfo *info = NULL;
    drv_must(runtime, ort->GetValueType(value, &facts.onnx_type), "GetValueType");
    if (facts.onnx_type != ORT_TENSOR)
        return facts;
    drv_must(runtime, ort->GetTensorTypeAndShape(value, &info), "GetTensorTypeAndShape");
    drv_must(runtime, ort->GetTensorElementType(info, &facts.element_type), "GetTensorElementType");
    drv_must(runtime, ort->GetDimensionsCount(info, &facts.rank), "GetDimensionsCount");
    if (facts.rank > 8)
        drv_die("a tensor of rank %u", (unsigned)facts.rank);
    drv_must(runtime, ort->GetDimensions(info, facts.dims, facts.rank), "GetDimensions");
    ort->ReleaseTensorTypeAndShapeInfo(info);
    return facts;
}

char *drv_describe(drv_runtime *runtime, const char *const *names, OrtValue *const *values,
                   size_t count)
{
    drv_text text = {0};
    drv_text_add(&text, "[");
    for (size_t i = 0; i < count; i++) {
        value_facts facts = look_at(runtime, values[i]);
        drv_text_add(&text, i ? ",[" : "[");
        drv_text_quote(&text, names[i] ? names[i] : "");
        drv_text_add(&text, ",%d,%d,\"", facts.onnx_type, facts.element_type);
        for (size_t k = 0; k < facts.rank; k++)
            drv_text_add(&text, k ? ",%lld" : "%lld", (long long)facts.dims[k]);
        drv_text_add(&text, "\"]");
    }
    drv_text_add(&text, "]");
    return text.data;
}

void drv_hash_values(drv_worker *worker, OrtValue *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        value_facts facts = look_at(worker->runtime, values[i]);
        if (facts.onnx_type != ORT_TENSOR)
            continue;
        size_t size = element_size(facts.element_type);
        for (size_t k = 0; k < facts.rank; k++)
            size *= (size_t)facts.dims[k];
        void *data = NULL;
        drv_must(worker->runtime, worker->runtime->ort.GetTensorMutableData(values[i], &data),
                 "GetTensorMutableData");
        for (size_t k = 0; k < size; k++)
            worker->hash = (worker->hash ^ ((unsigned char *)data)[k]) * 0x100000001b3u;
    }
}

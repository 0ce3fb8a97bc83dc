// SPDX-License-Identifier: MIT
// A model put together through the model editor API (1.22 and later): Y = Relu(X), X float[?,4].
#include "driver.h"

static OrtValueInfo *value_info(drv_runtime *runtime, const char *name)
{
    const ort_calls *ort = &runtime->ort;
    const int64_t dims[] = {-1, 4};
    OrtShapeInfo *shape = NULL;
    OrtTypeInfo *type = NULL;
    OrtValueInfo *info = NULL;
    drv_must(runtime, ort->CreateTensorTypeAndShapeInfo(&shape), "CreateTensorTypeAndShapeInfo");
    drv_must(runtime, ort->SetTensorElementType(shape, ORT_FLOAT), "SetTensorElementType");
    drv_must(runtime, ort->SetDimensions(shape, dims, 2), "SetDimensions");
    drv_must(runtime, ort->CreateTensorTypeInfo(shape, &type), "CreateTensorTypeInfo");
    drv_must(runtime, ort->CreateValueInfo(name, type, &info), "CreateValueInfo");
    ort->ReleaseTypeInfo(type);
    ort->ReleaseTensorTypeAndShapeInfo(shape);
    return info;
}

static OrtNode *relu_node(drv_runtime *runtime, const char *operator_name)
{
    const char *inputs[] = {"X"}, *outputs[] = {"Y"};
    OrtNode *node = NULL;
    drv_must(
        runtime,
        runtime->ort.CreateNode(operator_name, "", "built", inputs, 1, outputs, 1, NULL, 0, &node),
        "CreateNode");
    return node;
}

OrtStatus *drv_editor_create(drv_runtime *runtime, const OrtSessionOptions *options, bool broken,
                             OrtSession **out)
{
    const ort_calls *ort = &runtime->ort;
    const char *domains[] = {""};
    const int opsets[] = {13};
    OrtGraph *graph = NULL;
    OrtModel *model = NULL;
    OrtValueInfo *inputs[] = {value_info(runtime, "X")}, *outputs[] = {value_info(runtime, "Y")};
    drv_must(runtime, ort->CreateGraph(&graph), "CreateGraph");
    drv_must(runtime, ort->SetGraphInputs(graph, inputs, 1), "SetGraphInputs");
    drv_must(runtime, ort->SetGraphOutputs(graph, outputs, 1), "SetGraphOutputs");
    OrtNode *node = relu_node(runtime, broken ? "NoSuchOperator" : "Relu");
    drv_must(runtime, ort->AddNodeToGraph(graph, node), "AddNodeToGraph");
    drv_must(runtime, ort->CreateModel(domains, opsets, 1, &model), "CreateModel");
    drv_must(runtime, ort->AddGraphToModel(model, graph), "AddGraphToModel");
    OrtStatus *status = ort->CreateSessionFromModel(runtime->env, model, options, out);
    ort->ReleaseModel(model);
    return status;
}

// In some builds these functions share their body with ReleaseSession.
void drv_editor_litter(drv_runtime *runtime)
{
    if (!runtime->ort.CreateGraph)
        return;
    OrtGraph *graph = NULL;
    runtime->ort.ReleaseValueInfo(value_info(runtime, "unused"));
    runtime->ort.ReleaseNode(relu_node(runtime, "Relu"));
    drv_must(runtime, runtime->ort.CreateGraph(&graph), "CreateGraph");
    runtime->ort.ReleaseGraph(graph);
}

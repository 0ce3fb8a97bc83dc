// SPDX-License-Identifier: MIT
// A recording of Windows' event tracing for `ortscope import`, and the same cut.
#include "etl_maker.h"
#include "gold_maker.h"

#include "common/os.h"

static void save(const char *path, const cm_buf *bytes, size_t len)
{
    cm_file *file = NULL;
    check(cm_file_create(path, &file));
    check(cm_file_write(file, bytes->data, len));
    check(cm_file_close(file));
}

static void put_session(etl_maker *m, int64_t time)
{
    etl_bytes metadata, data = {.len = 0};
    tlg_name(&metadata, "SessionCreation");
    tlg_field(&metadata, "sessionId", 8);
    put32(&data, 1);
    tlg_field(&metadata, "modelFileName", 2);
    put_text(&data, "cls.onnx");
    tlg_field(&metadata, "executionProviderIds", 2);
    put_text(&data, "CPUExecutionProvider");
    tlg_field(&metadata, "PartA_PrivTags", 10);
    put64(&data, 1);
    tlg_finish(&metadata);
    etl_event(m, etl_ort_guid, 0, 0, 4, time, 100, 7, &metadata, &data);
}

void make_recording(void)
{
    etl_maker m;
    etl_head head = etl_head_usual;
    head.lost = 3;
    etl_begin(&m, &head);
    etl_process(&m, 3, 1000, 0, 0, "Idle");
    etl_process(&m, 3, 1000, 50, 4, "other.exe");
    etl_process(&m, 3, 1000, 100, 50, "app.exe");
    etl_thread(&m, 3, 1001, 50, 9);
    etl_image(&m, 2000, 100, "\\Device\\HarddiskVolume3\\app\\onnxruntime.dll");
    etl_buffer(&m, 1);
    etl_ort(&m, "SessionCreationStart", 3000, 100, 7, 1);
    put_session(&m, 103000);
    for (int64_t i = 0; i < 5; i++) {
        etl_ort(&m, "EvaluationStart", 200000 + i * 20000, 100, 7, 1);
        etl_ort(&m, "EvaluationStop", 212000 + i * 20000 + i * 1000, 100, 7, 1);
    }
    etl_buffer(&m, 2);
    etl_switch(&m, 200500, 9, 7, 32, 1); // while the first run is under way
    etl_switch(&m, 201000, 7, 9, 6, 5);
    etl_end(&m);
    save("recording.etl", &m.file, m.file.len);
    save("cut.etl", &m.file, m.file.len - 8192 + 80);
    etl_free(&m);
}

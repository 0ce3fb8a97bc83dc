// SPDX-License-Identifier: MIT
#include "etl_facts.h"

#include "collector/etl_kernel.h"
#include "etl_classes.h"
#include "etl_fields.h"

#include <string.h>

// The place of each field among the values: PROCESS_ParentId_U32, ...
#define PLACE(prefix, name, type)           prefix##_##name##_##type,
#define P_PROCESS(name, type, since, until) PLACE(PROCESS, name, type)
enum { ETL_FIELDS_Process(P_PROCESS) };
#define P_THREAD(name, type, since, until) PLACE(THREAD, name, type)
enum { ETL_FIELDS_Thread(P_THREAD) };
#define P_NAME(name, type, since, until) PLACE(NAME, name, type)
enum { ETL_FIELDS_ThreadName(P_NAME) };
#define P_IMAGE(name, type, since, until) PLACE(IMAGE, name, type)
enum { ETL_FIELDS_Image(P_IMAGE) };
#define P_SWITCH(name, type, since, until) PLACE(SWITCH, name, type)
enum { ETL_FIELDS_CSwitch(P_SWITCH) };
#define P_READY(name, type, since, until) PLACE(READY, name, type)
enum { ETL_FIELDS_ReadyThread(P_READY) };
#define P_PROFILE(name, type, since, until) PLACE(PROFILE, name, type)
enum { ETL_FIELDS_SampleProf(P_PROFILE) };
#define P_SOFT(name, type, since, until) PLACE(SOFT, name, type)
enum { ETL_FIELDS_SoftFault(P_SOFT) };
#define P_HARD(name, type, since, until) PLACE(HARD, name, type)
enum { ETL_FIELDS_HardFault(P_HARD) };
#define P_DISK(name, type, since, until) PLACE(DISK, name, type)
enum { ETL_FIELDS_DiskIo(P_DISK) };
#define P_FLUSH(name, type, since, until) PLACE(FLUSH, name, type)
enum { ETL_FIELDS_DiskFlush(P_FLUSH) };
#define P_DPC(name, type, since, until) PLACE(DPC, name, type)
enum { ETL_FIELDS_Dpc(P_DPC) };
#define P_INTERVAL(name, type, since, until) PLACE(INTERVAL, name, type)
enum { ETL_FIELDS_Interval(P_INTERVAL) };
#define P_MSTART(name, type, since, until) PLACE(MSTART, name, type)
enum { ETL_FIELDS_ManifestProcessStart(P_MSTART) };
#define P_MSTOP(name, type, since, until) PLACE(MSTOP, name, type)
enum { ETL_FIELDS_ManifestProcessStop(P_MSTOP) };
#define P_MRUNDOWN(name, type, since, until) PLACE(MRUNDOWN, name, type)
enum { ETL_FIELDS_ManifestProcessRundown(P_MRUNDOWN) };
#define P_MTHREAD(name, type, since, until) PLACE(MTHREAD, name, type)
enum { ETL_FIELDS_ManifestThread(P_MTHREAD) };
#define P_MIMAGE(name, type, since, until) PLACE(MIMAGE, name, type)
enum { ETL_FIELDS_ManifestImage(P_MIMAGE) };

static uint32_t u32(const co_etl_value *v)
{
    return v->present ? (uint32_t)v->number : CO_ETL_UNKNOWN;
}

static int small(const co_etl_value *v)
{
    return (int)(int64_t)v->number;
}

static etl_text text(const co_etl_value *v, bool wide)
{
    return (etl_text){v->bytes, v->len, wide};
}

// ---------------------------------------------------------------------------------- classic events

static void process_fact(const co_etl_value *v, etl_fact *f)
{
    f->kind = ETL_FACT_PROCESS;
    f->pid = u32(&v[PROCESS_ProcessId_U32]);
    f->parent = u32(&v[PROCESS_ParentId_U32]);
    f->exit_code = small(&v[PROCESS_ExitStatus_I32]);
    f->name = text(&v[PROCESS_ImageFileName_ANSI], false);
    f->command_line = text(&v[PROCESS_CommandLine_UTF16], true);
}

static void thread_fact(const co_etl_value *v, etl_fact *f)
{
    f->kind = ETL_FACT_THREAD;
    f->pid = u32(&v[THREAD_ProcessId_U32]);
    f->tid = u32(&v[THREAD_TThreadId_U32]);
    f->name = text(&v[THREAD_ThreadName_UTF16], true);
}

static void thread_name_fact(const co_etl_value *v, etl_fact *f)
{
    f->kind = ETL_FACT_THREAD;
    f->action = ETL_NAMED;
    f->pid = u32(&v[NAME_ProcessId_U32]);
    f->tid = u32(&v[NAME_TThreadId_U32]);
    f->name = text(&v[NAME_ThreadName_UTF16], true);
}

static void image_fact(const co_etl_value *v, etl_fact *f)
{
    f->kind = ETL_FACT_IMAGE;
    f->pid = u32(&v[IMAGE_ProcessId_U32]);
    f->address = v[IMAGE_BaseAddress_POINTER].number;
    f->bytes = v[IMAGE_ModuleSize_U32].number | v[IMAGE_ModuleSize_POINTER].number;
    f->checksum = (uint32_t)v[IMAGE_ImageCheckSum_U32].number;
    f->stamp = (uint32_t)v[IMAGE_TimeDateStamp_U32].number;
    f->name = text(&v[IMAGE_ImageFileName_UTF16], true);
}

static void switch_fact(const co_etl_value *v, etl_fact *f)
{
    f->kind = ETL_FACT_SWITCH;
    f->tid = u32(&v[SWITCH_NewThreadId_U32]);
    f->old_tid = u32(&v[SWITCH_OldThreadId_U32]);
    f->new_priority = small(&v[SWITCH_NewThreadPriority_I8]);
    f->old_priority = small(&v[SWITCH_OldThreadPriority_I8]);
    f->wait_reason = small(&v[SWITCH_OldThreadWaitReason_I8]);
    f->wait_mode = small(&v[SWITCH_OldThreadWaitMode_I8]);
    f->state = small(&v[SWITCH_OldThreadState_I8]);
    f->waited = (uint32_t)v[SWITCH_NewThreadWaitTime_U32].number;
}

static void ready_fact(const co_etl_value *v, etl_fact *f)
{
    f->kind = ETL_FACT_READY;
    f->tid = u32(&v[READY_TThreadId_U32]);
    f->reason = small(&v[READY_AdjustReason_I8]);
    f->increment = small(&v[READY_AdjustIncrement_I8]);
    f->flags = small(&v[READY_Flag_I8]);
}

static void profile_fact(const co_etl_value *v, etl_fact *f)
{
    f->kind = ETL_FACT_PROFILE;
    f->tid = u32(&v[PROFILE_ThreadId_U32]);
    f->address = v[PROFILE_InstructionPointer_POINTER].number;
    f->count = (uint32_t)v[PROFILE_Count_U16].number;
    f->flags = small(&v[PROFILE_Reserved_U16]) & 3;
}

static void soft_fault_fact(const co_etl_value *v, unsigned opcode, etl_fact *f)
{
    f->kind = ETL_FACT_FAULT;
    f->what = (int)opcode - 10;
    f->address = v[SOFT_VirtualAddress_POINTER].number;
}

static void hard_fault_fact(const co_etl_value *v, etl_fact *f)
{
    f->kind = ETL_FACT_FAULT;
    f->what = 6;
    f->tid = u32(&v[HARD_TThreadId_U32]);
    f->has_begin = true;
    f->begin = (int64_t)v[HARD_InitialTime_U64].number;
    f->address = v[HARD_VirtualAddress_POINTER].number;
    f->bytes = v[HARD_ByteCount_U32].number;
}

static void disk_fact(const co_etl_value *v, int action, etl_fact *f)
{
    f->kind = ETL_FACT_DISK;
    f->what = action;
    if (action == 2) {
        f->tid = u32(&v[FLUSH_IssuingThreadId_U32]);
        f->disk = (uint32_t)v[FLUSH_DiskNumber_U32].number;
        f->duration = v[FLUSH_HighResResponseTime_U64].number;
        return;
    }
    f->tid = u32(&v[DISK_IssuingThreadId_U32]);
    f->disk = (uint32_t)v[DISK_DiskNumber_U32].number;
    f->bytes = v[DISK_TransferSize_U32].number;
    f->offset = v[DISK_ByteOffset_U64].number;
    f->duration = v[DISK_HighResResponseTime_U64].number;
}

static void interrupt_fact(const co_etl_value *v, int what, etl_fact *f)
{
    f->kind = ETL_FACT_INTERRUPT;
    f->what = what;
    f->has_begin = v[DPC_InitialTime_U64].present;
    f->begin = (int64_t)v[DPC_InitialTime_U64].number;
    f->address = v[DPC_Routine_POINTER].number;
}

static void interval_fact(const co_etl_value *v, etl_fact *f)
{
    f->kind = ETL_FACT_INTERVAL;
    f->what = small(&v[INTERVAL_Source_U32]);
    f->duration = v[INTERVAL_NewInterval_U32].number;
}

#define KEY(group, opcode) (ETL_GROUP_##group << 8 | (opcode))

// What the processors and disks do.
static void work_fact(unsigned key, const co_etl_value *v, etl_fact *f)
{
    unsigned opcode = key & 0xffu;
    switch (key) {
    case KEY(THREAD, 36):
        switch_fact(v, f);
        break;
    case KEY(THREAD, 50):
        ready_fact(v, f);
        break;
    case KEY(PERFINFO, 46):
        profile_fact(v, f);
        break;
    case KEY(PERFINFO, 72):
    case KEY(PERFINFO, 73):
    case KEY(PERFINFO, 74):
        interval_fact(v, f);
        break;
    case KEY(MEMORY, 32):
        hard_fault_fact(v, f);
        break;
    case KEY(DISK, 10):
    case KEY(DISK, 11):
        disk_fact(v, (int)opcode - 10, f);
        break;
    case KEY(DISK, 14):
        disk_fact(v, 2, f);
        break;
    case KEY(PERFINFO, 66):
        interrupt_fact(v, 2, f);
        break;
    case KEY(PERFINFO, 50):
    case KEY(PERFINFO, 67):
        interrupt_fact(v, 3, f);
        break;
    case KEY(PERFINFO, 68):
    case KEY(PERFINFO, 69):
        interrupt_fact(v, (int)opcode - 68, f);
        break;
    default:
        if (key >= KEY(MEMORY, 10) && key <= KEY(MEMORY, 15))
            soft_fault_fact(v, opcode, f);
    }
}

static void kernel_fact(unsigned key, const co_etl_value *v, etl_fact *f)
{
    static const etl_action actions[] = {ETL_BEGINS, ETL_BEGINS, ETL_ENDS, ETL_WAS_THERE,
                                         ETL_IS_THERE};
    unsigned opcode = key & 0xffu;
    f->action = opcode <= 4 ? actions[opcode] : ETL_BEGINS;
    switch (key) {
    case KEY(PROCESS, 1):
    case KEY(PROCESS, 2):
    case KEY(PROCESS, 3):
    case KEY(PROCESS, 4):
        process_fact(v, f);
        break;
    case KEY(THREAD, 1):
    case KEY(THREAD, 2):
    case KEY(THREAD, 3):
    case KEY(THREAD, 4):
        thread_fact(v, f);
        break;
    case KEY(THREAD, 72):
        thread_name_fact(v, f);
        break;
    case KEY(PROCESS, 10): // an image is loaded
    case KEY(IMAGE, 10):
    case KEY(IMAGE, 2):
    case KEY(IMAGE, 3):
    case KEY(IMAGE, 4):
        image_fact(v, f);
        break;
    default:
        work_fact(key, v, f);
    }
}

// ----------------------------------------------------------------------------------- the manifest

static void manifest_fact(unsigned id, const co_etl_value *v, etl_fact *f)
{
    f->action = id == 2 || id == 4 || id == 6 ? ETL_ENDS : ETL_BEGINS;
    switch (id) {
    case 1:
        f->kind = ETL_FACT_PROCESS;
        f->pid = u32(&v[MSTART_ProcessID_U32]);
        f->parent = u32(&v[MSTART_ParentProcessID_U32]);
        f->name = text(&v[MSTART_ImageName_UTF16], true);
        break;
    case 2:
        f->kind = ETL_FACT_PROCESS;
        f->pid = u32(&v[MSTOP_ProcessID_U32]);
        f->parent = CO_ETL_UNKNOWN;
        f->exit_code = (int32_t)v[MSTOP_ExitCode_U32].number;
        f->name = text(&v[MSTOP_ImageName_ANSI], false);
        break;
    case 3:
    case 4:
        f->kind = ETL_FACT_THREAD;
        f->pid = u32(&v[MTHREAD_ProcessID_U32]);
        f->tid = u32(&v[MTHREAD_ThreadID_U32]);
        break;
    case 5:
    case 6:
        f->kind = ETL_FACT_IMAGE;
        f->pid = u32(&v[MIMAGE_ProcessID_U32]);
        f->address = v[MIMAGE_ImageBase_POINTER].number;
        f->bytes = v[MIMAGE_ImageSize_POINTER].number;
        f->checksum = (uint32_t)v[MIMAGE_ImageCheckSum_U32].number;
        f->stamp = (uint32_t)v[MIMAGE_TimeDateStamp_U32].number;
        f->name = text(&v[MIMAGE_ImageName_UTF16], true);
        break;
    case 15:
        f->kind = ETL_FACT_PROCESS;
        f->action = ETL_WAS_THERE;
        f->pid = u32(&v[MRUNDOWN_ProcessID_U32]);
        f->parent = u32(&v[MRUNDOWN_ParentProcessID_U32]);
        f->name = text(&v[MRUNDOWN_ImageName_UTF16], true);
        break;
    default:
        break;
    }
}

bool co_etl_fact(const co_etl_event *e, etl_fact *out)
{
    const co_etl_layout *layout = co_etl_layout_of(e);
    co_etl_value values[CO_ETL_FIELDS_MAX];
    uint8_t group = e->group;
    if (!layout)
        return false;
    *out = (etl_fact){.pid = e->pid, .tid = e->tid};
    co_etl_decode(layout, e, values);
    if (e->family == CO_ETL_EVENT)
        manifest_fact(e->id, values, out);
    else if (e->family == CO_ETL_KERNEL || co_etl_group_of(e->provider, &group))
        kernel_fact((unsigned)group << 8 | e->opcode, values, out);
    bool about_process = out->kind == ETL_FACT_PROCESS || out->kind == ETL_FACT_IMAGE;
    bool about_thread = out->kind == ETL_FACT_THREAD || out->kind == ETL_FACT_SWITCH;
    return out->kind != ETL_FACT_NONE && (!about_process || out->pid != CO_ETL_UNKNOWN) &&
           (!about_thread || out->tid != CO_ETL_UNKNOWN);
}

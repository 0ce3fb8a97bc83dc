// SPDX-License-Identifier: MIT
// An nvml.dll whose devices are in a script: the functions that ortscope uses, with their
// documented answers. A device's time is the number of times that its utilisation was asked for.
#include "sim_script.h"

#include <stdlib.h>
#include <string.h>

#include <tlhelp32.h>

#define DEVICES 8

enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7
};

// What can be set or fail, by the words of the script.
static const char *const facts[] = {
    "utilization", "memory_utilization",  "memory_used",    "memory_total", "power",
    "energy",      "temperature",         "clock_graphics", "clock_sm",     "clock_memory",
    "throttle",    "process_utilization", "process_memory"};
enum {
    UTILIZATION,
    MEMORY_UTILIZATION,
    MEMORY_USED,
    MEMORY_TOTAL,
    POWER,
    ENERGY,
    TEMPERATURE,
    CLOCK,
    THROTTLE = CLOCK + 3,
    PROCESS_UTILIZATION,
    PROCESS_MEMORY,
    FACTS
};

typedef struct device {
    const char *name;
    long readings;
    int lost; // the status of every answer
    struct {
        int there, status;
        unsigned long long value;
    } fact[FACTS];
    const char *process; // name of the executable that uses it
} device;

static sim_script g_script;
static device g_devices[DEVICES];
static unsigned g_count;
static int g_running, g_init_status;

static int fact_of(const char *word)
{
    for (int i = 0; i < FACTS; i++)
        if (strcmp(facts[i], word) == 0)
            return i;
    return -1;
}

static void run_line(device *d, const sim_line *line)
{
    int fact = line->count > 2 ? fact_of(line->words[2]) : -1;
    if (sim_is(line, "set", 4) && fact >= 0) {
        d->fact[fact].there = 1;
        d->fact[fact].status = SUCCESS;
        d->fact[fact].value = strtoull(line->words[3], NULL, 0);
    } else if (sim_is(line, "error", 4) && fact >= 0) {
        d->fact[fact].there = 1;
        d->fact[fact].status = (int)sim_number(line->words[3]);
    } else if (sim_is(line, "lost", 3)) {
        d->lost = (int)sim_number(line->words[2]);
    } else if (sim_is(line, "process", 3)) {
        d->process = line->words[2];
    }
}

static void advance(device *d)
{
    d->readings++;
    for (int i = 0; i < g_script.count; i++) {
        const sim_line *line = &g_script.lines[i];
        long at = line->at ? line->at : 1;
        if (at == d->readings && line->count > 2 && &g_devices[sim_number(line->words[1])] == d)
            run_line(d, line);
    }
}

BOOL WINAPI DllMain(HINSTANCE module, DWORD reason, LPVOID reserved);

BOOL WINAPI DllMain(HINSTANCE module, DWORD reason, LPVOID reserved)
{
    (void)reserved;
    if (reason != DLL_PROCESS_ATTACH)
        return TRUE;
    sim_script_load(module, &g_script);
    for (int i = 0; i < g_script.count; i++) {
        const sim_line *line = &g_script.lines[i];
        if (sim_is(line, "init", 2))
            g_init_status = (int)sim_number(line->words[1]);
        if (sim_is(line, "device", 3) && sim_number(line->words[1]) < DEVICES) {
            unsigned index = sim_number(line->words[1]);
            g_devices[index].name = line->words[2];
            g_count = index + 1 > g_count ? index + 1 : g_count;
        }
    }
    return TRUE;
}

static int answer(const device *d, int fact, unsigned long long *out)
{
    if (!g_running)
        return UNINITIALIZED;
    if (d->lost)
        return d->lost;
    if (!d->fact[fact].there)
        return NOT_SUPPORTED;
    if (d->fact[fact].status == SUCCESS)
        *out = d->fact[fact].value;
    return d->fact[fact].status;
}

static int small_answer(const device *d, int fact, unsigned *out)
{
    unsigned long long value = *out;
    int status = answer(d, fact, &value);
    *out = (unsigned)value;
    return status;
}

static unsigned pid_of(const char *executable)
{
    PROCESSENTRY32 entry = {.dwSize = sizeof entry};
    HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    unsigned pid = 0;
    for (BOOL more = Process32First(snapshot, &entry); more;
         more = Process32Next(snapshot, &entry)) {
        char name[MAX_PATH];
        WideCharToMultiByte(CP_UTF8, 0, entry.szExeFile, -1, name, sizeof name, NULL, NULL);
        if (executable && _stricmp(name, executable) == 0)
            pid = entry.th32ProcessID;
    }
    CloseHandle(snapshot);
    return pid;
}

// --------------------------------------------------------------------------------------- functions

#define NVML __declspec(dllexport) int

NVML nvmlInit_v2(void);
NVML nvmlShutdown(void);
NVML nvmlDeviceGetCount_v2(unsigned *count);
NVML nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out);
NVML nvmlDeviceGetName(void *handle, char *name, unsigned capacity);
NVML nvmlDeviceGetUtilizationRates(void *handle, unsigned out[2]);
NVML nvmlDeviceGetMemoryInfo(void *handle, unsigned long long out[3]);
NVML nvmlDeviceGetPowerUsage(void *handle, unsigned *out);
NVML nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *out);
NVML nvmlDeviceGetTemperature(void *handle, int sensor, unsigned *out);
NVML nvmlDeviceGetClockInfo(void *handle, int type, unsigned *out);
NVML nvmlDeviceGetCurrentClocksThrottleReasons(void *handle, unsigned long long *out);

NVML nvmlInit_v2(void)
{
    g_running = g_init_status == SUCCESS;
    return g_init_status;
}

NVML nvmlShutdown(void)
{
    int was = g_running;
    g_running = 0;
    return was ? SUCCESS : UNINITIALIZED;
}

NVML nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = g_count;
    return g_running ? SUCCESS : UNINITIALIZED;
}

NVML nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out)
{
    if (!g_running)
        return UNINITIALIZED;
    if (index >= g_count)
        return INVALID_ARGUMENT;
    *out = &g_devices[index];
    return SUCCESS;
}

NVML nvmlDeviceGetName(void *handle, char *name, unsigned capacity)
{
    const device *d = handle;
    if (strlen(d->name) >= capacity)
        return INSUFFICIENT_SIZE;
    strcpy(name, d->name);
    return SUCCESS;
}

NVML nvmlDeviceGetUtilizationRates(void *handle, unsigned out[2])
{
    device *d = handle;
    advance(d);
    small_answer(d, MEMORY_UTILIZATION, &out[1]);
    return small_answer(d, UTILIZATION, &out[0]);
}

NVML nvmlDeviceGetMemoryInfo(void *handle, unsigned long long out[3])
{
    int status = answer(handle, MEMORY_TOTAL, &out[0]);
    if (status == SUCCESS)
        status = answer(handle, MEMORY_USED, &out[2]);
    out[1] = out[0] - out[2];
    return status;
}

NVML nvmlDeviceGetPowerUsage(void *handle, unsigned *out)
{
    return small_answer(handle, POWER, out);
}

NVML nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *out)
{
    return answer(handle, ENERGY, out);
}

NVML nvmlDeviceGetTemperature(void *handle, int sensor, unsigned *out)
{
    return sensor == 0 ? small_answer(handle, TEMPERATURE, out) : INVALID_ARGUMENT;
}

NVML nvmlDeviceGetClockInfo(void *handle, int type, unsigned *out)
{
    return type >= 0 && type < 3 ? small_answer(handle, CLOCK + type, out) : INVALID_ARGUMENT;
}

NVML nvmlDeviceGetCurrentClocksThrottleReasons(void *handle, unsigned long long *out)
{
    return answer(handle, THROTTLE, out);
}

typedef struct process_sample {
    unsigned pid;
    unsigned long long time_us;
    unsigned sm, memory, encoder, decoder;
} process_sample;

typedef struct process_info {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
} process_info;

NVML nvmlDeviceGetProcessUtilization(void *handle, process_sample *samples, unsigned *count,
                                     unsigned long long since_us);
NVML nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, process_info *infos);

NVML nvmlDeviceGetProcessUtilization(void *handle, process_sample *samples, unsigned *count,
                                     unsigned long long since_us)
{
    const device *d = handle;
    unsigned long long share = 0, now = GetTickCount64() * 1000;
    int status = answer(d, PROCESS_UTILIZATION, &share);
    unsigned pid = status == SUCCESS ? pid_of(d->process) : 0;
    if (status != SUCCESS || !pid || now <= since_us)
        return status != SUCCESS ? status : NOT_FOUND;
    if (!samples || *count < 1) {
        *count = 1;
        return INSUFFICIENT_SIZE;
    }
    *count = 1;
    samples[0] = (process_sample){.pid = pid, .time_us = now, .sm = (unsigned)share};
    return SUCCESS;
}

NVML nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, process_info *infos)
{
    const device *d = handle;
    unsigned long long used = 0;
    int status = answer(d, PROCESS_MEMORY, &used);
    unsigned pid = status == SUCCESS ? pid_of(d->process) : 0;
    if (status != SUCCESS)
        return status;
    if (pid && *count < 1) {
        *count = 1;
        return INSUFFICIENT_SIZE;
    }
    *count = pid ? 1 : 0;
    if (pid)
        infos[0] = (process_info){pid, used, 0xFFFFFFFFu, 0xFFFFFFFFu};
    return SUCCESS;
}

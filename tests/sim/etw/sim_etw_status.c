// SPDX-License-Identifier: MIT
#include "sim_etw_main.h"

#include <stdio.h>

static void print_guid(const GUID *g)
{
    printf("\"%08lx-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x\"", g->Data1, g->Data2, g->Data3,
           g->Data4[0], g->Data4[1], g->Data4[2], g->Data4[3], g->Data4[4], g->Data4[5],
           g->Data4[6], g->Data4[7]);
}

static void print_text(const WCHAR *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == L'"' || *text == L'\\')
            putchar('\\');
        putchar(*text < 0x20 || *text > 0x7E ? '?' : (char)*text);
    }
    putchar('"');
}

static void print_providers(const se_session *s)
{
    const char *comma = "";
    for (uint32_t i = 0; i < SE_PROVIDERS; i++) {
        const se_enable *e = &s->providers[i];
        if (!e->in_use)
            continue;
        printf("%s{\"provider\":", comma);
        print_guid(&e->provider);
        printf(",\"level\":%u,\"any\":%llu,\"all\":%llu,\"property\":%u,\"pids\":%u}", e->level,
               (unsigned long long)e->any, (unsigned long long)e->all, e->property, e->pid_count);
        comma = ",";
    }
}

static void print_session(const se_session *s)
{
    static const char *const states[] = {"free", "running", "stopping", "draining"};
    printf("{\"name\":");
    print_text(s->name);
    printf(",\"state\":\"%s\",\"file\":", states[s->state & 3]);
    print_text(s->file);
    printf(",\"mode\":%u,\"clock\":%u,\"buffer_kb\":%u,\"min_buffers\":%u,\"max_buffers\":%u",
           s->mode, s->clock, s->buffer_bytes / 1024, s->min_buffers, s->max_buffers);
    printf(",\"flush_ms\":%u,\"kernel_flags\":%u,\"events_lost\":%u", s->flush_ms, s->kernel_flags,
           s->events_lost);
    printf(",\"buffers_written\":%u,\"log_buffers_lost\":%u,\"rt_buffers_lost\":%u",
           s->buffers_written, s->log_buffers_lost, s->rt_buffers_lost);
    printf(",\"consumer_pid\":%u,\"sample_interval_100ns\":%u,\"providers\":[", s->consumer_pid,
           s->sample_interval_100ns);
    print_providers(s);
    printf("]}");
}

int se_status(void)
{
    const char *comma = "";
    se_lock();
    printf("{\"sessions\":[");
    for (uint32_t i = 0; i < SE_SESSIONS; i++)
        if (g_se->sessions[i].state != SE_FREE) {
            printf("%s", comma);
            print_session(&g_se->sessions[i]);
            comma = ",";
        }
    printf("],\"processes\":[");
    comma = "";
    for (uint32_t i = 0; i < SE_PROCESSES; i++)
        if (g_se->processes[i].pid) {
            printf("%s{\"pid\":%u,\"registrations\":%u}", comma, g_se->processes[i].pid,
                   g_se->processes[i].registrations);
            comma = ",";
        }
    printf("]}\n");
    se_unlock();
    return 0;
}

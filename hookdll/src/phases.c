// SPDX-License-Identifier: MIT
// See phases.h.
#include "phases.h"

enum { PHASE_READING = 1, PHASE_OPTIMISING = 2, PHASE_WEIGHTS = 3 };
enum { SOURCE_EVENTS = 1, SOURCE_FUNCTIONS = 3 };

// -------------------------------------------------------------------------------------- boundaries

// Called by the relay below, on whatever thread ORT uses. Touches nothing but the thread's own
// state, so it needs neither to be armed nor to mark the thread busy.
__attribute__((used)) void hk_phase_begins(uint64_t phase);
__attribute__((used)) void hk_phase_begins(uint64_t phase)
{
    uint64_t now = hk_ticks();
    hk_thread *t = hk_thread_get();
    if ((uintptr_t)t <= HK_THREAD_ENDED || !(t->inside & HK_INSIDE_LOADING))
        return;
    hk_load_note *load = &t->load;
    if (phase == PHASE_OPTIMISING && !load->optimising)
        load->optimising = now;
    else if (phase == PHASE_OPTIMISING)
        load->unsure = true;
    else if (!load->weights && !load->unsure) // the first time: subgraphs follow
        load->weights = now;
}

// Keeps the parameters in registers, calls hk_phase_begins(r10) and goes on where *rax leads, with
// the stack as it was. rax, r10 and r11 carry no parameters on x64.
__asm__(".text\n"
        ".seh_proc hk_phase_relay\n"
        "hk_phase_relay:\n"
        "pushq %rax\n"
        ".seh_stackalloc 8\n"
        "pushq %rcx\n"
        ".seh_stackalloc 8\n"
        "pushq %rdx\n"
        ".seh_stackalloc 8\n"
        "pushq %r8\n"
        ".seh_stackalloc 8\n"
        "pushq %r9\n"
        ".seh_stackalloc 8\n"
        "subq $32, %rsp\n"
        ".seh_stackalloc 32\n"
        ".seh_endprologue\n"
        "movq %r10, %rcx\n"
        "call hk_phase_begins\n"
        "addq $32, %rsp\n"
        "popq %r9\n"
        "popq %r8\n"
        "popq %rdx\n"
        "popq %rcx\n"
        "popq %rax\n"
        "jmpq *(%rax)\n"
        ".seh_endproc\n");

#define ENTRY(name, phase, n)                                                                      \
    static __attribute__((naked)) void name##_entry_##n(void)                                      \
    {                                                                                              \
        __asm__("leaq g_hk+%c0(%%rip), %%rax\n\tmovl %1, %%r10d\n\tjmp hk_phase_relay"             \
                :                                                                                  \
                : "i"(offsetof(hk_state, modules[n].orig[HK_API_##name])), "i"(phase));            \
    }
#define BOUNDARY(name, phase)                                                                      \
    ENTRY(name, phase, 0)                                                                          \
    ENTRY(name, phase, 1)                                                                          \
    ENTRY(name, phase, 2)                                                                          \
    ENTRY(name, phase, 3)                                                                          \
    ENTRY(name, phase, 4)                                                                          \
    ENTRY(name, phase, 5)                                                                          \
    ENTRY(name, phase, 6)                                                                          \
    ENTRY(name, phase, 7) HK_ENTRIES(name)

BOUNDARY(Initialize, PHASE_OPTIMISING)
BOUNDARY(SaveInitializedTensors, PHASE_WEIGHTS)

// ----------------------------------------------------------------------------------------- telling

static void tell(hk_thread *t, uint32_t epoch, tl_Phase fixed, uint64_t begin, uint64_t end)
{
    if (!begin || !end)
        return;
    fixed.duration_ticks = end - begin;
    hk_emit(t, epoch, TL_EVENT_Phase, end, &fixed, sizeof fixed, NULL, 0);
}

void hk_phases_emit(hk_thread *t, uint32_t epoch, uint32_t session, const hk_session_origin *origin,
                    bool failed)
{
    const hk_load_note *load = &t->load;
    tl_Phase fixed = {.session = session, .phase = PHASE_READING, .source = SOURCE_FUNCTIONS};
    if (origin->source == HK_SOURCE_EVENTS)
        fixed.source = SOURCE_EVENTS;
    tell(t, epoch, fixed, origin->begin, load->optimising);
    fixed.source = SOURCE_FUNCTIONS;
    fixed.phase = PHASE_OPTIMISING;
    tell(t, epoch, fixed, load->optimising, load->weights);
    fixed.phase = PHASE_WEIGHTS;
    tell(t, epoch, fixed, load->weights, failed ? 0 : origin->end);
}

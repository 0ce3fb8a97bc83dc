// SPDX-License-Identifier: MIT
// Who a kernel is: node, operator, domain, opset, provider, class. Sources in order: the public C
// API; the runtime's KernelDef, whose layout is the same from 1.15 to 1.30 and is checked before it
// is believed; the class name.
#include "op.h"

#define NEWEST_MINOR  30 // up to here the kernel's own layout was looked at
#define TRUSTED_AFTER 8u // definitions read through the system before we read them directly
#define ADDRESS_LIMIT 0x00007fff00000000u
#define NODE_NAME_MAX 1024u

enum {
    SOURCE_API = 1,
    SOURCE_STRUCTURES = 2,
    SOURCE_CLASS = 3,
    KERNEL_INFO = 8, // in an OpKernel
    INFO_NODE = 8,
    INFO_DEFINITION = 16,
    INFO_BYTES = 32,
    DEFINITION_NAME = 0,
    DEFINITION_OPSET = 32,
    DEFINITION_DOMAIN = 40,
    DEFINITION_PROVIDER = 72,
    DEFINITION_BYTES = 104,
    NODE_NAME = 8, // in a Node
    NODE_OPERATOR = 40,
    NODE_BYTES = 72,
    STRING_LEN = 16, // in a std::string of MSVC
    STRING_CAPACITY = 24,
    STRING_INLINE = 15, // longer ones are elsewhere
};

typedef struct definition {
    uint64_t node; // address of the Node
    uint32_t opset;
    char op_type[128], domain[64], provider[64];
} definition;

// ------------------------------------------------------------------------- reading with suspicion

// Until enough of a module's kernels proved to be as we think, the system is asked before memory is
// read.
bool hk_op_copy(const hk_op_module *o, uint64_t address, void *to, size_t bytes)
{
    if ((address & 7) || address < 65536 || address >= ADDRESS_LIMIT)
        return false;
    if (atomic_load_explicit(&o->trusted, memory_order_relaxed) >= TRUSTED_AFTER) {
        memcpy(to, (const void *)(uintptr_t)address, bytes);
        return true;
    }
    return hk_copy_readable(address, to, bytes);
}

static uint64_t word_at(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static bool is_printable(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] < 0x20 || text[i] > 0x7e)
            return false;
    return true;
}

// `string` is a copy of a std::string.
static bool take_string(const hk_op_module *o, const uint8_t *string, char *to, size_t capacity)
{
    uint64_t len = word_at(string + STRING_LEN), room = word_at(string + STRING_CAPACITY);
    if (len >= capacity || room < len || room < STRING_INLINE)
        return false;
    if (room == STRING_INLINE)
        memcpy(to, string, (size_t)len);
    else if (!hk_op_copy(o, word_at(string), to, (size_t)len))
        return false;
    to[len] = 0;
    return is_printable(to, (size_t)len);
}

static bool ends_in(const char *text, const char *end)
{
    size_t len = hk_text_of(text).len, end_len = hk_text_of(end).len;
    return len >= end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

static bool same_text(const char *a, const char *b)
{
    return hk_text_of(a).len == hk_text_of(b).len && memcmp(a, b, hk_text_of(a).len) == 0;
}

// A Node begins with its number, its name and its operator; the latter must be what the definition
// says.
static bool read_node(const hk_op_module *o, const definition *d, uint8_t bytes[NODE_BYTES])
{
    char op_type[sizeof d->op_type];
    return hk_copy_readable(d->node, bytes, NODE_BYTES) &&
           take_string(o, bytes + NODE_OPERATOR, op_type, sizeof op_type) &&
           same_text(op_type, d->op_type);
}

// ORT's own providers are all called so; a plugin may have any name, and then the node must agree.
static bool is_provider(const hk_op_module *o, const definition *d)
{
    uint8_t node[NODE_BYTES];
    return ends_in(d->provider, "ExecutionProvider") || (d->provider[0] && read_node(o, d, node));
}

static bool read_definition(hk_op_module *o, uint64_t info, definition *out)
{
    uint8_t head[INFO_BYTES], bytes[DEFINITION_BYTES];
    if (!hk_op_copy(o, info, head, sizeof head) ||
        !hk_op_copy(o, word_at(head + INFO_DEFINITION), bytes, sizeof bytes) ||
        !take_string(o, bytes + DEFINITION_NAME, out->op_type, sizeof out->op_type) ||
        !take_string(o, bytes + DEFINITION_DOMAIN, out->domain, sizeof out->domain) ||
        !take_string(o, bytes + DEFINITION_PROVIDER, out->provider, sizeof out->provider))
        return false;
    out->node = word_at(head + INFO_NODE);
    out->opset = (uint32_t)word_at(bytes + DEFINITION_OPSET);
    return out->op_type[0] && out->opset < 10000 && is_provider(o, out);
}

// Without a C API to ask.
static void read_node_name(const hk_op_module *o, const definition *d, char *name, size_t capacity)
{
    uint8_t bytes[NODE_BYTES];
    if (!read_node(o, d, bytes) || !take_string(o, bytes + NODE_NAME, name, capacity))
        name[0] = 0;
}

uint64_t hk_kernel_info_address(const hk_kernel *k)
{
    return word_at((const uint8_t *)atomic_load(&k->self) + KERNEL_INFO);
}

static bool describe(const hk_kernel *k, definition *out)
{
    hk_op_module *o = k->vtable->module;
    bool fits = read_definition(o, hk_kernel_info_address(k), out);
    if (!fits) {
        *out = (definition){0};
        atomic_store(&o->trusted, 0);
    } else if (atomic_load(&o->trusted) < TRUSTED_AFTER) {
        atomic_fetch_add(&o->trusted, 1);
    }
    return fits;
}

const OrtKernelInfo *hk_kernel_info(const hk_kernel *k)
{
    definition ignored;
    const hk_op_module *o = k->vtable->module;
    if (!o->runtime || !(o->runtime->minor <= NEWEST_MINOR || describe(k, &ignored)))
        return NULL;
    return (const OrtKernelInfo *)(uintptr_t)hk_kernel_info_address(k);
}

// ---------------------------------------------------------------------------------- from the C API

// "" if it could not be had.
static bool take_text(const hk_module *m, OrtStatus *status, char *text)
{
    if (!status)
        return text[0] != 0;
    ORT_CALL(m, ReleaseStatus)(status);
    text[0] = 0;
    return false;
}

static bool ask_operator(const hk_module *m, const OrtKernelInfo *info, definition *d)
{
    definition told = *d;
    if (!ORT_HAS(m, KernelInfo_GetOperatorType))
        return false;
    size_t len = sizeof told.op_type;
    if (!take_text(m, ORT_CALL(m, KernelInfo_GetOperatorType)(info, told.op_type, &len),
                   told.op_type))
        return false;
    len = sizeof told.domain;
    take_text(m, ORT_CALL(m, KernelInfo_GetOperatorDomain)(info, told.domain, &len), told.domain);
    int opset = 0;
    OrtStatus *status = ORT_CALL(m, KernelInfo_GetOperatorSinceVersion)(info, &opset);
    if (status)
        ORT_CALL(m, ReleaseStatus)(status);
    else if (!told.opset)
        told.opset = (uint32_t)opset;
    *d = told;
    return true;
}

// ----------------------------------------------------------------------------------------- telling

bool hk_kernel_announce(hk_thread *t, uint32_t epoch, const hk_kernel *k, const hk_session *s)
{
    const hk_op_module *o = k->vtable->module;
    const hk_module *m = o->runtime;
    definition d = {0};
    char node[NODE_NAME_MAX] = "", class_name[512] = "";
    uint8_t source = describe(k, &d) ? SOURCE_STRUCTURES : SOURCE_CLASS;
    const OrtKernelInfo *info = hk_kernel_info(k);
    if (info) {
        size_t len = sizeof node;
        take_text(m, ORT_CALL(m, KernelInfo_GetNodeName)(info, node, &len), node);
        if (ask_operator(m, info, &d))
            source = SOURCE_API;
    } else if (source == SOURCE_STRUCTURES) {
        read_node_name(o, &d, node, sizeof node);
    }
    uint32_t rva = (uint32_t)(atomic_load(&k->vtable->address) - (uintptr_t)o->scan.bytes);
    const char *decorated = hk_scan_class_name(&o->scan, rva);
    if (decorated)
        hk_class_text(decorated, class_name, sizeof class_name);
    tl_Kernel fixed = {.kernel = k->id,
                       .session = s ? s->id : 0,
                       .module = m   ? m->id
                                 : s ? s->module->id
                                     : 0,
                       .opset = d.opset,
                       .source = source,
                       .submits = hk_provider_submits(d.provider)};
    hk_text texts[] = {hk_text_of(node), hk_text_of(d.op_type), hk_text_of(d.domain),
                       hk_text_of(d.provider), hk_text_of(class_name)};
    if (!hk_emit(t, epoch, TL_EVENT_Kernel, hk_ticks(), &fixed, sizeof fixed, texts, 5))
        return false;
    hk_kernel_tell_names(t, epoch, k);
    return true;
}

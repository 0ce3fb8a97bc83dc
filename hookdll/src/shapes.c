// SPDX-License-Identifier: MIT
#include "shapes.h"

#define FINGERPRINT_SEED 0x2545f4914f6cdd1du
#define TENSORS_MAX      1024u // a set of more is not told

// ------------------------------------------------------------------------------- reading one value

static void read_by_handle(hk_module *m, const OrtValue *value, hk_tensor *out)
{
    OrtTensorTypeAndShapeInfo *info = NULL;
    OrtStatus *status = ORT_CALL(m, GetTensorTypeAndShape)(value, &info);
    if (!status)
        status = ORT_CALL(m, GetTensorElementType)(info, &out->element_type);
    if (!status)
        status = ORT_CALL(m, GetDimensionsCount)(info, &out->rank);
    if (out->rank > HK_RANK_MAX)
        out->rank = HK_RANK_MAX;
    if (!status)
        status = ORT_CALL(m, GetDimensions)(info, out->buffer, out->rank);
    if (info)
        ORT_CALL(m, ReleaseTensorTypeAndShapeInfo)(info);
    if (status) {
        out->rank = 0;
        ORT_CALL(m, ReleaseStatus)(status);
    }
}

static OrtStatus *read_by_reference(hk_module *m, const OrtValue *value, hk_tensor *out)
{
    const int64_t *dims = NULL;
    OrtStatus *status = ORT_CALL(m, GetTensorElementTypeAndShapeDataReference)(
        value, &out->element_type, &dims, &out->rank);
    if (!status && out->rank)
        out->dims = dims;
    if (out->rank > HK_RANK_MAX)
        out->rank = HK_RANK_MAX;
    return status;
}

static OrtStatus *read_tensor(hk_module *m, const OrtValue *value, hk_tensor *out)
{
    out->onnx_type = ORT_TYPE_TENSOR;
    if (ORT_HAS(m, GetTensorElementTypeAndShapeDataReference))
        return read_by_reference(m, value, out);
    read_by_handle(m, value, out);
    if (atomic_load(&m->layout.state) == HK_LAYOUT_USABLE && out->element_type)
        hk_layout_learn(&m->layout, value, out->element_type);
    return NULL;
}

// By the public API alone.
static void read_officially(hk_module *m, const OrtValue *value, hk_tensor *out)
{
    out->onnx_type = ORT_TYPE_UNKNOWN;
    out->element_type = 0;
    out->rank = 0;
    out->dims = out->buffer;
    if (!value)
        return;
    // An optional output that the model left out is a tensor by its type and has none.
    int has_value = 1, is_tensor = 0;
    OrtStatus *status = ORT_HAS(m, HasValue) ? ORT_CALL(m, HasValue)(value, &has_value) : NULL;
    if (!status && has_value)
        status = ORT_CALL(m, IsTensor)(value, &is_tensor);
    if (!status && has_value)
        status = is_tensor ? read_tensor(m, value, out)
                           : ORT_CALL(m, GetValueType)(value, &out->onnx_type);
    if (status) {
        out->rank = 0;
        ORT_CALL(m, ReleaseStatus)(status);
    }
}

// By the layout found for older runtimes; false if that is not possible.
static inline bool read_quickly(hk_module *m, const OrtValue *value, hk_tensor *out)
{
    if (!value || ORT_HAS(m, GetTensorElementTypeAndShapeDataReference))
        return false;
    uint32_t state = atomic_load_explicit(&m->layout.state, memory_order_acquire);
    if (state == HK_LAYOUT_UNKNOWN) {
        hk_layout_find(m);
        state = atomic_load(&m->layout.state);
    }
    if (state != HK_LAYOUT_USABLE ||
        !hk_layout_read(&m->layout, value, &out->element_type, &out->dims, &out->rank) ||
        out->rank > HK_RANK_MAX)
        return false;
    out->onnx_type = ORT_TYPE_TENSOR;
    return true;
}

void hk_tensor_read(hk_module *m, const OrtValue *value, hk_tensor *out)
{
    if (!read_quickly(m, value, out))
        read_officially(m, value, out);
}

static bool same_tensor(const hk_tensor *a, const hk_tensor *b)
{
    return a->onnx_type == b->onnx_type && a->element_type == b->element_type &&
           a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

void hk_tensor_read_checked(hk_module *m, const OrtValue *value, hk_tensor *out)
{
    hk_tensor quick;
    read_officially(m, value, out);
    if (read_quickly(m, value, &quick) && !same_tensor(&quick, out))
        atomic_store(&m->layout.state, HK_LAYOUT_UNUSABLE);
}

// ------------------------------------------------------------------------------------ fingerprints

static inline uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static inline uint64_t load_word(const char *at)
{
    uint64_t word = 0;
    if (((uintptr_t)at & 4095) <= 4096 - sizeof word) { // stays within the page
        __builtin_memcpy(&word, at, sizeof word);
        return word;
    }
    for (unsigned i = 0; i < sizeof word && at[i]; i++)
        word |= (uint64_t)(uint8_t)at[i] << 8 * i;
    return word;
}

// Eight bytes at a time, the last ones padded with zeros.
static inline uint64_t mix_name(uint64_t hash, const char *name)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    for (;; name += 8) {
        uint64_t word = load_word(name);
        uint64_t zeros = (word - ones) & ~word & highs;
        if (zeros) {
            unsigned bits_before = (unsigned)__builtin_ctzll(zeros) - 7;
            return mix(hash, bits_before ? word << (64 - bits_before) >> (64 - bits_before) : 0);
        }
        hash = mix(hash, word);
    }
}

static inline uint64_t mix_tensor(uint64_t hash, const hk_tensor *tensor)
{
    hash = mix(hash, (uint64_t)tensor->onnx_type << 40 | (uint64_t)tensor->element_type << 32 |
                         tensor->rank);
    for (size_t i = 0; i < tensor->rank; i++)
        hash = mix(hash, (uint64_t)tensor->dims[i]);
    return hash;
}

uint64_t hk_fingerprint_begin(size_t count)
{
    return mix(FINGERPRINT_SEED, count);
}

uint64_t hk_fingerprint_add(uint64_t hash, const char *name, const hk_tensor *tensor)
{
    return mix_tensor(mix_name(hash, name ? name : ""), tensor);
}

// --------------------------------------------------------------------------------------- the cache

// A set lies at its home or in one of the places behind it; an empty place ends the search. Where
// all are taken the home is given to the newcomer, and the set that lay there is sent again when it
// comes back.
#define PLACES 16u

static inline _Atomic uint64_t *cache_place(hk_session *s, int direction, uint64_t fingerprint,
                                            unsigned step)
{
    uint64_t home = fingerprint ^ fingerprint >> 32;
    return &s->shapes[direction][(home + step) % HK_SHAPE_CACHE];
}

uint32_t hk_shapes_lookup(hk_session *s, int direction, uint64_t fingerprint)
{
    for (unsigned i = 0; i < PLACES; i++) {
        uint64_t entry =
            atomic_load_explicit(cache_place(s, direction, fingerprint, i), memory_order_acquire);
        if (entry >> 32 == fingerprint >> 32)
            return (uint32_t)entry;
        if (!entry)
            break;
    }
    return 0;
}

// Under the lock of hk_shapes_send().
static void remember(hk_session *s, int direction, uint64_t fingerprint, uint32_t number)
{
    _Atomic uint64_t *place = cache_place(s, direction, fingerprint, 0);
    for (unsigned i = 0; i < PLACES; i++) {
        _Atomic uint64_t *next = cache_place(s, direction, fingerprint, i);
        if (!atomic_load_explicit(next, memory_order_relaxed)) {
            place = next;
            break;
        }
    }
    atomic_store_explicit(place, fingerprint >> 32 << 32 | number, memory_order_release);
}

static int64_t batch_of(const hk_tensor *tensor)
{
    return tensor->onnx_type == ORT_TYPE_TENSOR && tensor->rank ? tensor->dims[0] : -1;
}

static bool send_set(hk_thread *t, uint32_t epoch, tl_ShapeSet *set, hk_named_tensor_fn *get,
                     void *context)
{
    set->batch = -1;
    for (size_t i = 0; i < set->tensors && set->batch < 0; i++)
        set->batch = batch_of(get(context, i).tensor);
    bool sent = hk_emit(t, epoch, TL_EVENT_ShapeSet, hk_ticks(), set, sizeof *set, NULL, 0);
    for (size_t i = 0; i < set->tensors; i++) {
        hk_named_tensor member = get(context, i);
        tl_Tensor fixed = {.set = set->set,
                           .index = (uint16_t)i,
                           .onnx_type = (uint8_t)member.tensor->onnx_type,
                           .element_type = (uint8_t)member.tensor->element_type};
        sent &=
            hk_emit_tensor(t, epoch, &fixed, member.name, member.tensor->dims, member.tensor->rank);
    }
    return sent;
}

uint32_t hk_shapes_send(hk_thread *t, uint32_t epoch, hk_session *s, int direction,
                        uint64_t fingerprint, size_t count, hk_named_tensor_fn *get, void *context)
{
    static SRWLOCK lock = SRWLOCK_INIT;
    if (count > TENSORS_MAX || RtlDllShutdownInProgress())
        return 0;
    AcquireSRWLockExclusive(&lock);
    uint32_t number = hk_shapes_lookup(s, direction, fingerprint);
    if (!number) {
        number = ++g_hk.next_shape;
        tl_ShapeSet set = {.set = number,
                           .session = s->id,
                           .tensors = (uint16_t)count,
                           .direction = (uint8_t)direction};
        // One that was dropped on the way is sent again with the next run.
        if (send_set(t, epoch, &set, get, context))
            remember(s, direction, fingerprint, number);
    }
    ReleaseSRWLockExclusive(&lock);
    return number;
}

// ----------------------------------------------------------------------------------- values of Run

typedef struct run_values {
    hk_module *m;
    const char *const *names;
    const OrtValue *const *values;
    hk_tensor tensor;
} run_values;

static hk_named_tensor get_run_value(void *context, size_t index)
{
    run_values *v = context;
    hk_tensor_read_checked(v->m, v->values[index], &v->tensor);
    return (hk_named_tensor){hk_text_of(v->names ? v->names[index] : NULL), &v->tensor};
}

// A set that was dropped is not remembered. Meanwhile others may have taken its place: then it is
// told once more than needed.
static bool was_dropped(hk_session *s, int direction, uint64_t fingerprint, uint32_t number)
{
    return number && !hk_shapes_lookup(s, direction, fingerprint);
}

static inline uint32_t shapes_of(hk_thread *t, uint32_t epoch, hk_module *m, hk_session *s,
                                 int direction, const char *const *names,
                                 const OrtValue *const *values, size_t count, bool *sent)
{
    hk_tensor tensor;
    uint64_t fingerprint = hk_fingerprint_begin(count);
    for (size_t i = 0; i < count && i < TENSORS_MAX; i++) {
        hk_tensor_read(m, values[i], &tensor);
        fingerprint = hk_fingerprint_add(fingerprint, names ? names[i] : NULL, &tensor);
    }
    uint32_t number = hk_shapes_lookup(s, direction, fingerprint);
    if (__builtin_expect(number != 0, 1))
        return number;
    run_values context = {.m = m, .names = names, .values = values};
    number = hk_shapes_send(t, epoch, s, direction, fingerprint, count, get_run_value, &context);
    if (sent && was_dropped(s, direction, fingerprint, number))
        *sent = false;
    return number;
}

uint32_t hk_shapes_of(hk_thread *t, uint32_t epoch, hk_module *m, hk_session *s, int direction,
                      const char *const *names, const OrtValue *const *values, size_t count)
{
    return values && names ? shapes_of(t, epoch, m, s, direction, names, values, count, NULL) : 0;
}

// -------------------------------------------------------------------------------------- of kernels

// Sets of kernels have no names and belong to no session: equal ones are told once, whoever has
// them. A few sessions that are none serve as their cache.
#define KERNEL_CACHES 16u
static hk_session g_kernel_sets[KERNEL_CACHES];

uint32_t hk_shapes_of_kernel(hk_thread *t, uint32_t epoch, hk_module *m, int direction,
                             const OrtValue *const *values, size_t count, bool *sent)
{
    return shapes_of(t, epoch, m, &g_kernel_sets[count % KERNEL_CACHES], direction, NULL, values,
                     count, sent);
}

uint32_t hk_shapes_of_members(hk_thread *t, uint32_t epoch, int direction, size_t count,
                              hk_named_tensor_fn *get, void *context, bool *sent)
{
    hk_session *cache = &g_kernel_sets[count % KERNEL_CACHES];
    uint64_t fingerprint = hk_fingerprint_begin(count);
    for (size_t i = 0; i < count; i++)
        fingerprint = hk_fingerprint_add(fingerprint, NULL, get(context, i).tensor);
    uint32_t number = hk_shapes_lookup(cache, direction, fingerprint);
    if (number)
        return number;
    number = hk_shapes_send(t, epoch, cache, direction, fingerprint, count, get, context);
    if (was_dropped(cache, direction, fingerprint, number))
        *sent = false;
    return number;
}

void hk_kernel_shapes_clear(void)
{
    memset(g_kernel_sets, 0, sizeof g_kernel_sets);
}

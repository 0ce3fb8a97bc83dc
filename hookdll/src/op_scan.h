// SPDX-License-Identifier: MIT
// Finding functions and the vtables of C++ classes in a mapped 64-bit image: pure reading, no
// Windows, no memory of its own. Two ways that know nothing of each other:
//
//   RTTI    a vtable is preceded by the address of its CompleteObjectLocator, which leads to the
//           names of the class and its bases. Builds with --disable_rtti have none.
//   anchor  a literal that only the default body of a virtual function mentions: what refers to
//           the literal leads to the function, and where the function's address lies among the
//           read-only data there is a vtable.
//
// The image is not trusted: every address is checked against the sections before it is followed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_SCAN_SECTIONS_MAX 32u

typedef struct hk_scan_section {
    uint32_t rva, bytes;
    bool executable, writable;
} hk_scan_section;

typedef struct hk_scan {
    const uint8_t *bytes; // the image as it is mapped
    size_t size;
    uint64_t base; // what an address in the image is relative to; in a live process: `bytes`
    uint32_t pdata_rva, pdata_bytes;
    uint32_t section_count;
    hk_scan_section sections[HK_SCAN_SECTIONS_MAX]; // readable ones, in the order of the header
} hk_scan;

// A list of RVAs, ascending. `count` may exceed `capacity`: then the list is incomplete.
typedef struct hk_scan_list {
    uint32_t *rvas;
    size_t count, capacity;
} hk_scan_list;

typedef enum hk_scan_outcome {
    HK_SCAN_OK,
    HK_SCAN_ABSENT,    // the class or the literal is not there
    HK_SCAN_AMBIGUOUS, // more than one, or the way from it is not clear
} hk_scan_outcome;

// False: not a 64-bit image that lies within `size` bytes.
bool hk_scan_open(hk_scan *s, const void *bytes, size_t size, uint64_t base);

bool hk_scan_in_code(const hk_scan *s, uint64_t address);

// Vtables of every class that derives from `class_name` (decorated, ".?AVOpKernel@onnxruntime@@"),
// for the part of the object that is this base, with at least `slots` functions.
hk_scan_outcome hk_scan_rtti(const hk_scan *s, const char *class_name, unsigned slots,
                             hk_scan_list *out);

// The RVA of the only function that mentions `literal`, and mentions it once.
hk_scan_outcome hk_scan_mention(const hk_scan *s, const char *literal, uint32_t *function);

// Vtables whose entry number `slot` is the function that mentions `literal`, or the only function
// that calls it. *function gets its RVA.
hk_scan_outcome hk_scan_anchor(const hk_scan *s, const char *literal, unsigned slot,
                               hk_scan_list *out, uint32_t *function);

// The decorated name of the class whose vtable this is; NULL if the build does not tell. Points
// into the image and ends in NUL there.
const char *hk_scan_class_name(const hk_scan *s, uint32_t vtable_rva);

// ----------------------------------------------------------------------------------------- kernels

enum { HK_KERNEL_SLOTS = 4, HK_KERNEL_DESTROY = 0, HK_KERNEL_COMPUTE = 1, HK_KERNEL_ASYNC = 3 };

typedef enum hk_kernels_verdict {
    HK_KERNELS_NONE,     // neither way finds anything: no kernels here
    HK_KERNELS_AGREED,   // both ways, the same vtables
    HK_KERNELS_RTTI,     // by RTTI alone
    HK_KERNELS_ANCHOR,   // by the literal alone
    HK_KERNELS_DISAGREE, // the two contradict each other: trust neither
    HK_KERNELS_TOO_MANY, // more than there is room for
    HK_KERNELS_UNCLEAR,  // something is there, but no way leads to it for sure
} hk_kernels_verdict;

typedef struct hk_kernels_found {
    size_t by_rtti, by_anchor;
    size_t overriding; // by RTTI, with a ComputeAsync of their own: the anchor can't see them
} hk_kernels_found;

// `first` and `second` are room for `capacity` RVAs each; the result is in `first`.
hk_kernels_verdict hk_scan_kernels(const hk_scan *s, uint32_t *first, uint32_t *second,
                                   size_t capacity, size_t *count, hk_kernels_found *found);

// A cheap test before that: neither the class nor the literal is there, so no kernels are.
bool hk_scan_mentions_kernels(const hk_scan *s);

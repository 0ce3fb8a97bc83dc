// SPDX-License-Identifier: MIT
// The factory and the provider as ORT sees them. ORT calls these functions at any time, also while
// we are dormant: they say who we are, claim nothing and fail never, since a failure would be the
// program's.
#include "shim.h"

static SRWLOCK g_lock = SRWLOCK_INIT;
static hk_shim_ep *g_eps; // of all sessions that have one

static struct {
    OrtEpFactory factory;
    hk_module *module;
} g_factories[HK_MODULES_MAX];

static hk_module *module_of(const OrtEpFactory *factory)
{
    for (int i = 0; i < HK_MODULES_MAX; i++)
        if (&g_factories[i].factory == factory)
            return g_factories[i].module;
    return NULL;
}

// -------------------------------------------------------------------------------------- provider

static const char *ep_name(const OrtEp *ep)
{
    (void)ep;
    return HK_SHIM_NAME;
}

static OrtStatus *claim_nothing(OrtEp *ep, const OrtGraph *graph, OrtEpGraphSupportInfo *info)
{
    (void)ep;
    (void)graph;
    (void)info;
    return NULL;
}

// ORT wants these two to exist; without claimed nodes it does not call them.
static OrtStatus *compile(OrtEp *ep, const OrtGraph **graphs, const void **nodes, size_t count,
                          void **infos, void **contexts)
{
    (void)ep;
    (void)graphs;
    (void)nodes;
    (void)count;
    (void)infos;
    (void)contexts;
    return NULL;
}

static void release_infos(OrtEp *ep, void **infos, size_t count)
{
    (void)ep;
    (void)infos;
    (void)count;
}

static const OrtEp g_ep = {.version = SHIM_VERSION,
                           .GetName = ep_name,
                           .GetCapability = claim_nothing,
                           .Compile = compile,
                           .ReleaseNodeComputeInfos = release_infos,
                           .CreateProfiler = hk_shim_create_profiler};

// Taken when memory is short: a session has to get a provider.
static hk_shim_ep g_spare;

static OrtStatus *create_ep(OrtEpFactory *factory, const OrtHardwareDevice *const *devices,
                            const OrtKeyValuePairs *const *metadata, size_t count,
                            const OrtSessionOptions *options, const OrtLogger *logger, OrtEp **out)
{
    (void)devices;
    (void)metadata;
    (void)count;
    (void)options;
    (void)logger;
    hk_shim_ep *ep = RtlDllShutdownInProgress() ? NULL : hk_alloc(sizeof *ep);
    if (!ep) {
        g_spare.ep = g_ep;
        *out = &g_spare.ep;
        return NULL;
    }
    ep->ep = g_ep;
    ep->module = module_of(factory);
    AcquireSRWLockExclusive(&g_lock);
    ep->next = g_eps;
    g_eps = ep;
    ReleaseSRWLockExclusive(&g_lock);
    hk_thread *t = hk_thread_get();
    if ((uintptr_t)t > HK_THREAD_ENDED)
        t->shim_ep = ep; // hk_shim_creation_ends() tells it its session
    *out = &ep->ep;
    return NULL;
}

static void release_ep(OrtEpFactory *factory, OrtEp *released)
{
    (void)factory;
    hk_shim_ep *ep = (hk_shim_ep *)released;
    if (ep == &g_spare || RtlDllShutdownInProgress())
        return;
    AcquireSRWLockExclusive(&g_lock);
    hk_shim_ep **link = &g_eps;
    while (*link && *link != ep)
        link = &(*link)->next;
    if (*link)
        *link = ep->next;
    ReleaseSRWLockExclusive(&g_lock);
    hk_free(ep);
}

bool hk_shim_in(const OrtSession *session)
{
    bool found = false;
    AcquireSRWLockShared(&g_lock);
    for (const hk_shim_ep *ep = g_eps; ep && !found; ep = ep->next)
        found = atomic_load(&ep->session) == session;
    ReleaseSRWLockShared(&g_lock);
    return found;
}

// --------------------------------------------------------------------------------------- factory

static const char *factory_name(const OrtEpFactory *factory)
{
    (void)factory;
    return HK_SHIM_NAME;
}

static const char *vendor(const OrtEpFactory *factory)
{
    (void)factory;
    return "ortscope";
}

static uint32_t vendor_id(const OrtEpFactory *factory)
{
    (void)factory;
    return 0;
}

static const char *version(const OrtEpFactory *factory)
{
    (void)factory;
    return ORTSCOPE_VERSION;
}

// Nobody asks: this is for libraries that are registered.
static OrtStatus *supported_devices(OrtEpFactory *factory, const OrtHardwareDevice *const *devices,
                                    size_t count, OrtEpDevice **out, size_t max, size_t *out_count)
{
    (void)factory;
    (void)devices;
    (void)count;
    (void)out;
    (void)max;
    *out_count = 0;
    return NULL;
}

static OrtStatus *create_allocator(OrtEpFactory *factory, const OrtMemoryInfo *info,
                                   const OrtKeyValuePairs *options, OrtAllocator **out)
{
    (void)factory;
    (void)info;
    (void)options;
    *out = NULL; // ORT's own for the processor
    return NULL;
}

static void release_allocator(OrtEpFactory *factory, OrtAllocator *allocator)
{
    (void)factory;
    (void)allocator;
}

static OrtStatus *create_transfer(OrtEpFactory *factory, void **out)
{
    (void)factory;
    *out = NULL;
    return NULL;
}

static bool is_stream_aware(const OrtEpFactory *factory)
{
    (void)factory;
    return false;
}

OrtEpFactory *hk_shim_factory(hk_module *m)
{
    static const OrtEpFactory factory = {.version = SHIM_VERSION,
                                         .GetName = factory_name,
                                         .GetVendor = vendor,
                                         .GetSupportedDevices = supported_devices,
                                         .CreateEp = create_ep,
                                         .ReleaseEp = release_ep,
                                         .GetVendorId = vendor_id,
                                         .GetVersion = version,
                                         .CreateAllocator = create_allocator,
                                         .ReleaseAllocator = release_allocator,
                                         .CreateDataTransfer = create_transfer,
                                         .IsStreamAware = is_stream_aware};
    size_t i = (size_t)(m - g_hk.modules);
    g_factories[i].module = m;
    if (!g_factories[i].factory.version)
        g_factories[i].factory = factory;
    return &g_factories[i].factory;
}

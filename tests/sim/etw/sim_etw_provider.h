// SPDX-License-Identifier: MIT
// The provider's side: what ntdll's EtwEvent* functions do here.
#pragma once

#include "sim_etw_record.h"

ULONG WINAPI se_EventRegister(const GUID *id, PENABLECALLBACK callback, void *context,
                              REGHANDLE *handle);
ULONG WINAPI se_EventUnregister(REGHANDLE handle);
ULONG WINAPI se_EventSetInformation(REGHANDLE handle, int information_class, void *information,
                                    ULONG length);
BOOLEAN WINAPI se_EventEnabled(REGHANDLE handle, const EVENT_DESCRIPTOR *descriptor);
BOOLEAN WINAPI se_EventProviderEnabled(REGHANDLE handle, UCHAR level, ULONGLONG keyword);
ULONG WINAPI se_EventWrite(REGHANDLE handle, const EVENT_DESCRIPTOR *descriptor, ULONG count,
                           EVENT_DATA_DESCRIPTOR *data);
ULONG WINAPI se_EventWriteTransfer(REGHANDLE handle, const EVENT_DESCRIPTOR *descriptor,
                                   const GUID *activity, const GUID *related, ULONG count,
                                   EVENT_DATA_DESCRIPTOR *data);
ULONG WINAPI se_EventWriteString(REGHANDLE handle, UCHAR level, ULONGLONG keyword,
                                 const WCHAR *text);
ULONG WINAPI se_EventActivityIdControl(ULONG code, GUID *id);

// The controller's half: tells every process that has the provider, and waits at most `timeout_ms`
// (0: not at all) until all of them have heard. ERROR_TIMEOUT if not. Takes the lock.
uint64_t se_note_post(const se_note *note); // wants the lock held
ULONG se_note_wait(const GUID *provider, uint64_t number, uint32_t timeout_ms);
void se_note_wake(void);

// This process is ending: it hears nothing any more.
void se_provider_end(void);

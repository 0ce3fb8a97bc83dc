// SPDX-License-Identifier: MIT
// Members of JSON objects, and what several views look up.
#pragma once

#include "live_state.h"
#include "view.h"

#include <math.h>

#define DA_NONE ((double)NAN)

void da_key_number(cm_json *j, const char *key, double value, int decimals); // NAN: null
void da_key_int(cm_json *j, const char *key, int64_t value);
void da_key_uint(cm_json *j, const char *key, uint64_t value);
void da_key_id(cm_json *j, const char *key, int64_t id);         // below 1: null
void da_key_count(cm_json *j, const char *key, int64_t value);   // below 0: null
void da_key_text(cm_json *j, const char *key, const char *text); // NULL: null
// "op_type", "op_type_source" and "domain"; any of the texts may be NULL.
void da_key_op_type(cm_json *j, const char *op_type, const char *class_name, const char *domain);
void da_key_bool(cm_json *j, const char *key, bool value);
void da_key_array(cm_json *j, const char *key);
void da_key_object(cm_json *j, const char *key);
void da_begin_document(cm_json *j, uint32_t capture);

double da_seconds(int64_t ns);
double da_us(double ns);

const char *da_state_name(da_state state);
const char *da_process_state(const da_process *p);
const char *da_how_name(int64_t how); // a process came to be followed
const char *da_about_name(int64_t about);
const char *da_file_name(const char *path); // behind the last slash

// Counters, by timeline/kinds.h: about. process, number: -1 = any. NULL if none was ever known.
enum { DA_MACHINE, DA_PROCESS, DA_THREAD, DA_CORE, DA_DEVICE };
const da_counter *da_counter_find(const da_live *l, const char *name, int64_t about,
                                  int64_t process, int64_t number);
// Of the same device as `c`, told by the same source: sources number devices each in its own way.
const da_counter *da_counter_beside(const da_live *l, const da_counter *c, const char *name);
// In its unit; NAN where it is not known now.
double da_counter_now(const da_counter *c);
// Of one that counts up: its change per second over the last second, or over the last interval
// where its source is asked less often.
double da_counter_rate(const da_live *l, const da_counter *c);
// The last step of a tier whose value is known: a source that is asked rarely may tell more later.
int64_t da_counter_until(const da_live *l, const da_counter *c, size_t tier);
// Processor time, user and kernel together, in percent of one processor.
double da_cpu_percent(const da_live *l, int64_t about, int64_t process, int64_t number);
// The value that holds at the end of a step of tier `tier`: NAN where it is not known. That of a
// total rises evenly from one sample to the next.
double da_level_at(const da_counter *c, size_t tier, int64_t index, bool total);

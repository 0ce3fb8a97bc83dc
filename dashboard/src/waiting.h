// SPDX-License-Identifier: MIT
// Connections whose request is not there yet. Each keeps one of the server's threads waiting, so
// only so many may: a further one ends the oldest. Clients that mean it send their request at once.
#pragma once

#include <pthread.h>
#include <stddef.h>

#define DA_WAITING 16u

typedef struct da_waiting {
    pthread_mutex_t lock;
    size_t count;
    long long sockets[DA_WAITING]; // the oldest first
} da_waiting;

void da_waiting_init(da_waiting *w);
void da_waiting_deinit(da_waiting *w);
// Twice for the same socket is once.
void da_waiting_begin(da_waiting *w, long long socket);
// Its request is there, or it ends; always before the socket is closed. Unknown ones are nothing.
void da_waiting_end(da_waiting *w, long long socket);

// SPDX-License-Identifier: MIT
#include "waiting.h"

#include "net_system.h"

#include <string.h>

void da_waiting_init(da_waiting *w)
{
    *w = (da_waiting){.count = 0};
    pthread_mutex_init(&w->lock, NULL);
}

void da_waiting_deinit(da_waiting *w)
{
    pthread_mutex_destroy(&w->lock);
}

// Under the lock.
static size_t place_of(const da_waiting *w, long long socket)
{
    size_t i = 0;
    while (i < w->count && w->sockets[i] != socket)
        i++;
    return i;
}

static void leave(da_waiting *w, size_t place)
{
    w->count--;
    memmove(&w->sockets[place], &w->sockets[place + 1], (w->count - place) * sizeof *w->sockets);
}

void da_waiting_begin(da_waiting *w, long long socket)
{
    pthread_mutex_lock(&w->lock);
    if (place_of(w, socket) == w->count) {
        if (w->count == DA_WAITING) {
            da_net_end((da_socket)w->sockets[0]); // it is in the list, so nobody has closed it
            leave(w, 0);
        }
        w->sockets[w->count++] = socket;
    }
    pthread_mutex_unlock(&w->lock);
}

void da_waiting_end(da_waiting *w, long long socket)
{
    pthread_mutex_lock(&w->lock);
    size_t place = place_of(w, socket);
    if (place < w->count)
        leave(w, place);
    pthread_mutex_unlock(&w->lock);
}

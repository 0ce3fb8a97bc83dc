// SPDX-License-Identifier: MIT
#include "sim_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char g_text[65536];

// The next word of a line, ended with a NUL; NULL at its end.
static char *next_word(char **at)
{
    char *word = *at + strspn(*at, " \t\r");
    if (*word == '\0' || *word == '#')
        return NULL;
    char *end = *word == '"' ? strchr(++word, '"') : word + strcspn(word, " \t\r");
    if (!end)
        end = word + strlen(word);
    *at = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

static void read_line(sim_script *s, char *text, long *at)
{
    sim_line line = {.at = *at};
    for (char *word; line.count < SIM_WORDS && (word = next_word(&text)) != NULL;)
        line.words[line.count++] = word;
    if (sim_is(&line, "at", 2))
        *at = (long)sim_number(line.words[1]);
    else if (line.count && s->count < SIM_LINES)
        s->lines[s->count++] = line;
}

void sim_script_load(HMODULE module, sim_script *out)
{
    char path[MAX_PATH];
    out->count = 0;
    DWORD len = GetModuleFileNameA(module, path, MAX_PATH);
    if (len < 4 || len >= MAX_PATH)
        return;
    strcpy(path + len - 4, ".sim");
    FILE *file = fopen(path, "rb");
    if (!file)
        return;
    g_text[fread(g_text, 1, sizeof g_text - 1, file)] = '\0';
    fclose(file);
    long at = 0;
    for (char *line = g_text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        read_line(out, line, &at);
    }
}

int sim_is(const sim_line *line, const char *command, int words)
{
    return line->count >= words && strcmp(line->words[0], command) == 0;
}

uint32_t sim_number(const char *word)
{
    return (uint32_t)strtoul(word, NULL, 0);
}

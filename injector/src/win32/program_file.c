// SPDX-License-Identifier: MIT
// From what the user typed to a file that can be started and seen, or a refusal that says what to
// type instead. Reads the file's headers; starts nothing.
#include "win_internal.h"

#include <stdlib.h>

static bool is_file(const wchar_t *path)
{
    DWORD attributes = GetFileAttributesW(path);
    return attributes != INVALID_FILE_ATTRIBUTES && !(attributes & FILE_ATTRIBUTE_DIRECTORY);
}

static bool is_directory(const wchar_t *path)
{
    DWORD attributes = GetFileAttributesW(path);
    return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY);
}

// `directory` (may be empty) + `name` + `suffix` as a full path.
static bool join(const wchar_t *directory, size_t directory_chars, const wchar_t *name,
                 const wchar_t *suffix, wchar_t *out)
{
    wchar_t path[INJ_PATH_CHARS];
    size_t name_chars = wcslen(name), suffix_chars = wcslen(suffix);
    if (directory_chars + 1 + name_chars + suffix_chars >= INJ_PATH_CHARS)
        return false;
    size_t at = 0;
    wmemcpy(path, directory, directory_chars);
    at += directory_chars;
    if (at > 0 && path[at - 1] != L'\\' && path[at - 1] != L'/')
        path[at++] = L'\\';
    wmemcpy(path + at, name, name_chars);
    at += name_chars;
    wmemcpy(path + at, suffix, suffix_chars + 1);
    DWORD chars = GetFullPathNameW(path, INJ_PATH_CHARS, out, NULL);
    return chars > 0 && chars < INJ_PATH_CHARS;
}

// Batch files are looked for only to be refused by name: shells find them in the same place.
static bool find_in(const wchar_t *directory, size_t directory_chars, const wchar_t *name,
                    bool try_as_is, wchar_t *out)
{
    static const wchar_t *const suffixes[] = {L"", L".exe", L".cmd", L".bat"};
    for (size_t i = try_as_is ? 0 : 1; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (join(directory, directory_chars, name, suffixes[i], out) && is_file(out))
            return true;
    return false;
}

static bool find_on_path(const wchar_t *name, wchar_t *out)
{
    // Like the shells, take a bare name for a file only if it has an extension: "npm" is npm.cmd,
    // never the Unix script beside it.
    bool has_extension = wcschr(name, L'.') != NULL;
    if (NeedCurrentDirectoryForExePathW(name) && find_in(L"", 0, name, has_extension, out))
        return true;
    DWORD chars = GetEnvironmentVariableW(L"PATH", NULL, 0);
    wchar_t *path = chars > 0 ? malloc(chars * sizeof *path) : NULL;
    bool found = false;
    if (path != NULL && GetEnvironmentVariableW(L"PATH", path, chars) < chars) {
        for (const wchar_t *entry = path; *entry != 0 && !found;) {
            bool quoted = *entry == L'"';
            const wchar_t *start = quoted ? entry + 1 : entry;
            size_t count = wcscspn(start, quoted ? L"\"" : L";");
            if (count > 0)
                found = find_in(start, count, name, has_extension, out);
            entry = start + count;
            entry += wcscspn(entry, L";");
            if (*entry == L';')
                entry++;
        }
    }
    free(path);
    return found;
}

static bool read_at(HANDLE file, uint64_t offset, uint8_t *out, DWORD len, DWORD *out_len)
{
    LARGE_INTEGER where = {.QuadPart = (LONGLONG)offset};
    return SetFilePointerEx(file, where, NULL, FILE_BEGIN) &&
           ReadFile(file, out, len, out_len, NULL);
}

static bool classify_file(const wchar_t *path, inj_image *out)
{
    HANDLE file = CreateFileW(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL,
                              OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return false;
    bool ok = false;
    DWORD len = 0;
    uint8_t *bytes = malloc(INJ_IMAGE_HEAD_BYTES);
    if (bytes != NULL && read_at(file, 0, bytes, INJ_IMAGE_HEAD_BYTES, &len)) {
        ok = true;
        *out = inj_image_classify(bytes, len);
        if (out->cli_offset != 0 && out->cli_offset < INT64_MAX &&
            read_at(file, out->cli_offset, bytes, INJ_CLI_HEADER_BYTES, &len))
            inj_image_apply_cli(out, bytes, len);
    }
    free(bytes);
    CloseHandle(file);
    return ok;
}

uint16_t inj_file_machine(const wchar_t *path)
{
    inj_image image;
    if (!classify_file(path, &image))
        return 0;
    return image.kind == INJ_IMAGE_ANYCPU ? INJ_MACHINE_X64 : image.machine;
}

// Scripts are often given instead of the program that runs them.
static cm_status refuse_script(const char *shown, const wchar_t *path)
{
    static const struct {
        const wchar_t *extension;
        const char *kind, *command;
    } scripts[] = {
        {L".bat", "a batch file", "cmd /c"},
        {L".cmd", "a batch file", "cmd /c"},
        {L".js", "a script", "node"},
        {L".mjs", "a script", "node"},
        {L".cjs", "a script", "node"},
        {L".py", "a script", "python"},
        {L".ps1", "a script", "powershell -File"},
        {L".jar", "a Java archive", "java -jar"},
    };
    const wchar_t *extension = wcsrchr(inj_file_name(path), L'.');
    for (size_t i = 0; extension != NULL && i < sizeof scripts / sizeof scripts[0]; i++)
        if (inj_same_text(extension, scripts[i].extension))
            return cm_fail(CM_UNSUPPORTED, "%s is %s, not a program; use: ortscope run -- %s %s",
                           shown, scripts[i].kind, scripts[i].command, shown);
    return cm_fail(CM_UNSUPPORTED,
                   "%s is not a Windows program (no MZ header); give the .exe that runs it", shown);
}

static cm_status refuse_image(const char *shown, const wchar_t *path, const inj_image *image)
{
    switch (image->kind) {
    case INJ_IMAGE_X64:
    case INJ_IMAGE_ANYCPU:
        return CM_OK;
    case INJ_IMAGE_X86:
        return cm_fail(CM_UNSUPPORTED,
                       "%s is a 32-bit program and ortscope sees only 64-bit ones; "
                       "use the program's 64-bit (x64) build",
                       shown);
    case INJ_IMAGE_ARM64:
        return cm_fail(CM_UNSUPPORTED,
                       "%s is an ARM64 program and ortscope sees only x64 ones; "
                       "use the program's x64 build",
                       shown);
    case INJ_IMAGE_OTHER_MACHINE:
        return cm_fail(CM_UNSUPPORTED,
                       "%s is a program for machine type 0x%04x and ortscope sees "
                       "only x64 ones; use the program's x64 build",
                       shown, (unsigned)image->machine);
    case INJ_IMAGE_LIBRARY:
        return cm_fail(CM_UNSUPPORTED, "%s is a DLL, not a program; give the .exe that loads it",
                       shown);
    case INJ_IMAGE_NOT_PROGRAM:
    case INJ_IMAGE_DOS:
        return cm_fail(CM_UNSUPPORTED,
                       "%s is an image that 64-bit Windows does not start as a "
                       "program (a DOS program, a driver or firmware)",
                       shown);
    case INJ_IMAGE_DAMAGED:
        return cm_fail(CM_UNSUPPORTED, "%s has damaged program headers; get a good copy of it",
                       shown);
    case INJ_IMAGE_NOT_PE:
        break;
    }
    return refuse_script(shown, path);
}

static cm_status find_wide(const char *shown, const wchar_t *name, wchar_t *out)
{
    bool is_path = wcspbrk(name, L"\\/:") != NULL;
    wchar_t path[INJ_PATH_CHARS];
    bool valid = *name != 0 && wcspbrk(name, L"\"*?<>|") == NULL;
    bool found = valid && (is_path ? find_in(L"", 0, name, true, path) : find_on_path(name, path));
    if (!found && valid && is_directory(name))
        return cm_fail(CM_UNSUPPORTED, "%s is a directory; give a program in it", shown);
    if (!found)
        return cm_fail(CM_NOT_FOUND,
                       is_path ? "there is no program %s; check the path"
                               : "there is no program %s in this directory or on the PATH; give "
                                 "its path",
                       shown);
    inj_image image;
    if (!classify_file(path, &image)) {
        DWORD error = GetLastError();
        return cm_fail(error == ERROR_ACCESS_DENIED ? CM_ACCESS_DENIED : CM_IO,
                       "%s can't be read (Windows error %lu); check its permissions", shown, error);
    }
    char found_path[1024];
    inj_utf8(path, found_path, sizeof found_path);
    CM_TRY(refuse_image(is_path ? shown : found_path, path, &image));
    wcscpy(out, path);
    return CM_OK;
}

cm_status inj_find_program(const char *name, wchar_t *out)
{
    wchar_t *wide = inj_wide(name);
    if (wide == NULL)
        return cm_fail(CM_USAGE, "the program's name is not valid text");
    cm_status status = find_wide(name, wide, out);
    free(wide);
    return status;
}

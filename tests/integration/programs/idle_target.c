// SPDX-License-Identifier: MIT
// A program to attach to: counts in a loop until the event named by its first argument is set (or a
// minute has passed), then exits with 42. With "deny" as second argument it first takes every right
// on its own process from everybody.
#include <string.h>
#include <windows.h>

#include <aclapi.h>

static void deny_everybody(void)
{
    ACL empty;
    InitializeAcl(&empty, sizeof empty, ACL_REVISION);
    SetSecurityInfo(GetCurrentProcess(), SE_KERNEL_OBJECT, DACL_SECURITY_INFORMATION, NULL, NULL,
                    &empty, NULL);
}

int main(int argc, char *argv[])
{
    HANDLE stop = argc > 1 ? OpenEventA(SYNCHRONIZE, FALSE, argv[1]) : NULL;
    if (argc > 2 && strcmp(argv[2], "deny") == 0)
        deny_everybody();
    HANDLE ready = argc > 3 ? OpenEventA(EVENT_MODIFY_STATE, FALSE, argv[3]) : NULL;
    if (ready != NULL)
        SetEvent(ready);
    for (int i = 0; i < 6000; i++)
        if (WaitForSingleObject(stop, 10) != WAIT_TIMEOUT)
            return stop != NULL ? 42 : 43;
    return 44;
}

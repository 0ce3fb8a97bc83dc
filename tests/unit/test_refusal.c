// SPDX-License-Identifier: MIT
// Every reason not to attach: the decision, the exit code, the sentence. Many of these can't be
// brought about under Wine, so this is where they are proved.
#include "refusal.h"

#include "unity.h"

#include <string.h>

void setUp(void) {}

void tearDown(void) {}

static inj_facts good(void)
{
    inj_facts facts = {
        .pid = 4242,
        .own_pid = 1000,
        .name = "node.exe",
        .exists = true,
        .opened = true,
        .machine = 0x8664,
        .user_known = true,
        .same_user = true,
        .integrity = 0x2000,
        .own_integrity = 0x2000,
    };
    return facts;
}

static inj_facts denied(void)
{
    inj_facts facts = good();
    facts.opened = false;
    facts.open_error = 5;
    return facts;
}

static void check(const inj_facts *facts, inj_reason reason, cm_status status, const char *part)
{
    TEST_ASSERT_EQUAL(reason, inj_decide(facts));
    TEST_ASSERT_EQUAL(status, inj_reason_status(reason));
    TEST_ASSERT_EQUAL(status, inj_refuse(reason, facts));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(cm_error_text(status), part), cm_error_text(status));
    TEST_ASSERT_TRUE(strlen(inj_reason_text(reason)) > 0);
}

static void test_good_process_is_not_refused(void)
{
    inj_facts facts = good();
    TEST_ASSERT_EQUAL(INJ_REASON_NONE, inj_decide(&facts));
    TEST_ASSERT_EQUAL(CM_OK, inj_refuse(INJ_REASON_NONE, &facts));
    TEST_ASSERT_EQUAL_STRING("", inj_reason_text(INJ_REASON_NONE));
}

static void test_ourselves_and_the_system(void)
{
    inj_facts facts = good();
    facts.own_pid = facts.pid;
    check(&facts, INJ_REASON_OWN_PROCESS, CM_UNSUPPORTED, "process 4242 (node.exe) is ortscope");
    facts = good();
    facts.pid = 4;
    check(&facts, INJ_REASON_SYSTEM_PROCESS, CM_UNSUPPORTED, "part of Windows");
    facts.pid = 0;
    facts.exists = false;
    check(&facts, INJ_REASON_SYSTEM_PROCESS, CM_UNSUPPORTED, "part of Windows");
}

static void test_not_there(void)
{
    inj_facts facts = {.pid = 77, .own_pid = 1000, .open_error = 87};
    check(&facts, INJ_REASON_NO_SUCH_PROCESS, CM_NOT_FOUND, "there is no process 77");
    facts = good();
    facts.exited = true;
    check(&facts, INJ_REASON_GONE, CM_NOT_FOUND, "has exited meanwhile");
    facts = denied();
    facts.exited = true;
    check(&facts, INJ_REASON_GONE, CM_NOT_FOUND, "has exited meanwhile");
}

static void test_wrong_machine_comes_before_denial(void)
{
    inj_facts facts = denied();
    facts.machine = 0x14c;
    check(&facts, INJ_REASON_X86, CM_UNSUPPORTED, "32-bit program");
    facts.machine = 0xaa64;
    check(&facts, INJ_REASON_ARM64, CM_UNSUPPORTED, "ARM64 program");
    facts.machine = 0x1c4;
    check(&facts, INJ_REASON_OTHER_MACHINE, CM_UNSUPPORTED, "machine type 0x01c4");
    facts = good();
    facts.machine = 0;
    check(&facts, INJ_REASON_MACHINE_UNKNOWN, CM_UNSUPPORTED, "can't be found out");
}

static void test_denials_say_why_and_what_to_do(void)
{
    inj_facts facts = denied();
    check(&facts, INJ_REASON_DENIED, CM_ACCESS_DENIED, "runs as administrator");
    facts.machine = 0; // nothing could be asked
    facts.user_known = false;
    facts.integrity = 0;
    check(&facts, INJ_REASON_DENIED, CM_ACCESS_DENIED, "Windows denies access");
    facts = denied();
    facts.integrity = 0x3000;
    check(&facts, INJ_REASON_HIGHER_INTEGRITY, CM_ACCESS_DENIED, "higher rights");
    facts = denied();
    facts.same_user = false;
    check(&facts, INJ_REASON_OTHER_USER, CM_ACCESS_DENIED, "another user");
    facts.own_elevated = true; // more rights are not to be had
    check(&facts, INJ_REASON_OTHER_USER, CM_ACCESS_DENIED, "ortscope run");
    facts = denied();
    facts.is_protected = true;
    check(&facts, INJ_REASON_PROTECTED, CM_ACCESS_DENIED, "protected process");
    facts = good();
    facts.is_protected = true;
    check(&facts, INJ_REASON_PROTECTED, CM_ACCESS_DENIED, "protected process");
}

static void test_other_users_process_that_could_be_opened_is_fine(void)
{
    inj_facts facts = good();
    facts.same_user = false;
    facts.integrity = 0x4000;
    TEST_ASSERT_EQUAL(INJ_REASON_NONE, inj_decide(&facts));
}

static void test_open_failed_for_another_reason(void)
{
    inj_facts facts = denied();
    facts.open_error = 1450;
    check(&facts, INJ_REASON_OPEN_FAILED, CM_FAILED, "error 1450");
}

static void test_policies(void)
{
    inj_facts facts = good();
    facts.only_signed_modules = true;
    check(&facts, INJ_REASON_SIGNED_ONLY, CM_UNSUPPORTED, "signed by Microsoft");
    facts = good();
    facts.no_generated_code = true;
    check(&facts, INJ_REASON_NO_GENERATED_CODE, CM_UNSUPPORTED, "executable memory");
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_good_process_is_not_refused);
    RUN_TEST(test_ourselves_and_the_system);
    RUN_TEST(test_not_there);
    RUN_TEST(test_wrong_machine_comes_before_denial);
    RUN_TEST(test_denials_say_why_and_what_to_do);
    RUN_TEST(test_other_users_process_that_could_be_opened_is_fine);
    RUN_TEST(test_open_failed_for_another_reason);
    RUN_TEST(test_policies);
    return UNITY_END();
}

// SPDX-License-Identifier: MIT
// What an instruction means for moving it; the only file that knows the disassembler.
#include "reloc_x64.h"

#include <Zydis/Zydis.h>

static bool is_jcc(const ZydisDecodedInstruction *zi)
{
    if (zi->meta.category != ZYDIS_CATEGORY_COND_BR)
        return false;
    if (zi->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT)
        return (zi->opcode & 0xf0) == 0x70;
    return zi->opcode_map == ZYDIS_OPCODE_MAP_0F && (zi->opcode & 0xf0) == 0x80;
}

static hk_insn_kind relative_kind(const ZydisDecodedInstruction *zi)
{
    // With an operand-size prefix processors of different makers disagree about the target.
    if (zi->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE)
        return HK_INSN_UNSUPPORTED;
    switch (zi->mnemonic) {
    case ZYDIS_MNEMONIC_JMP:
        return HK_INSN_JMP;
    case ZYDIS_MNEMONIC_CALL:
        return HK_INSN_CALL;
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE:
    case ZYDIS_MNEMONIC_JRCXZ:
    case ZYDIS_MNEMONIC_JECXZ:
        return HK_INSN_LOOP;
    default:
        return is_jcc(zi) ? HK_INSN_JCC : HK_INSN_UNSUPPORTED;
    }
}

static hk_insn_kind other_kind(const ZydisDecodedInstruction *zi)
{
    switch (zi->mnemonic) {
    case ZYDIS_MNEMONIC_INT3:
        return HK_INSN_BREAKPOINT;
    case ZYDIS_MNEMONIC_INT: // int 29h is the fast fail
        return zi->raw.imm[0].value.u == 0x29 ? HK_INSN_END : HK_INSN_PLAIN;
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
        return HK_INSN_END;
    default:
        break;
    }
    switch (zi->meta.category) {
    case ZYDIS_CATEGORY_CALL:
        return HK_INSN_CALL_INDIRECT;
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_SYSRET:
        return HK_INSN_END;
    default:
        return HK_INSN_PLAIN;
    }
}

bool hk_insn_decode(const hk_reloc_code *code, size_t offset, hk_insn *insn)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction zi;
    if (offset >= code->len)
        return false;
    if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
        return false;
    if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, code->bytes + offset,
                                                  code->len - offset, &zi)))
        return false;

    uint64_t next = code->address + offset + zi.length;
    hk_insn out = {.len = zi.length, .reads_memory = true};
    if (zi.raw.imm[0].is_relative) {
        out.kind = relative_kind(&zi);
        out.condition = zi.opcode & 15;
        out.target = next + (uint64_t)zi.raw.imm[0].value.s;
    } else {
        out.kind = other_kind(&zi);
        if (zi.attributes & ZYDIS_ATTRIB_IS_RELATIVE) {
            out.disp_offset = zi.raw.disp.offset;
            out.target = next + (uint64_t)zi.raw.disp.value;
            // A 32-bit effective address wraps at 4 GB: it can't be re-based.
            if (zi.address_width != 64 || zi.raw.disp.size != 32)
                out.kind = HK_INSN_UNSUPPORTED;
        }
    }
    out.is_padding = zi.mnemonic == ZYDIS_MNEMONIC_NOP || zi.mnemonic == ZYDIS_MNEMONIC_INT3;
    out.is_computed =
        zi.mnemonic == ZYDIS_MNEMONIC_JMP && out.kind == HK_INSN_END && out.disp_offset == 0;
    if (zi.mnemonic == ZYDIS_MNEMONIC_NOP || zi.mnemonic == ZYDIS_MNEMONIC_LEA)
        out.reads_memory = false;
    *insn = out;
    return true;
}

// SPDX-License-Identifier: MIT
// The fields of every event whose layout we know: F(name, type, first version, last version). The
// order is that of the bytes. Names are those of Microsoft's MOF classes and manifests.
#pragma once

#define V 255 // and later

#define ETL_FIELDS_Process(F)                                                                      \
    F(PageDirectoryBase, POINTER, 0, 1)                                                            \
    F(UniqueProcessKey, POINTER, 2, V)                                                             \
    F(ProcessId, U32, 0, V)                                                                        \
    F(ParentId, U32, 0, V)                                                                         \
    F(SessionId, U32, 1, V)                                                                        \
    F(ExitStatus, I32, 1, V)                                                                       \
    F(DirectoryTableBase, POINTER, 3, V)                                                           \
    F(Flags, U32, 4, V)                                                                            \
    F(UserSID, USER_SID, 0, V)                                                                     \
    F(ImageFileName, ANSI, 0, V)                                                                   \
    F(CommandLine, UTF16, 2, V)                                                                    \
    F(PackageFullName, UTF16, 4, V)                                                                \
    F(ApplicationId, UTF16, 4, V)                                                                  \
    F(ExitTime, U64, 5, V)
#define ETL_FIELDS_ProcessTerminate(F) F(ProcessId, U32, 0, V)
#define ETL_FIELDS_ProcessCounters(F)                                                              \
    F(ProcessId, U32, 0, V)                                                                        \
    F(PageFaultCount, U32, 0, V)                                                                   \
    F(HandleCount, U32, 0, V)                                                                      \
    F(Reserved, U32, 0, V)                                                                         \
    F(PeakVirtualSize, POINTER, 0, V)                                                              \
    F(PeakWorkingSetSize, POINTER, 0, V)                                                           \
    F(PeakPagefileUsage, POINTER, 0, V)                                                            \
    F(QuotaPeakPagedPoolUsage, POINTER, 0, V)                                                      \
    F(QuotaPeakNonPagedPoolUsage, POINTER, 0, V)                                                   \
    F(VirtualSize, POINTER, 0, V)                                                                  \
    F(WorkingSetSize, POINTER, 0, V)                                                               \
    F(PagefileUsage, POINTER, 0, V)                                                                \
    F(QuotaPagedPoolUsage, POINTER, 0, V)                                                          \
    F(QuotaNonPagedPoolUsage, POINTER, 0, V)                                                       \
    F(PrivatePageCount, POINTER, 0, V)

#define ETL_FIELDS_Thread(F)                                                                       \
    F(ProcessId, U32, 0, V)                                                                        \
    F(TThreadId, U32, 0, V)                                                                        \
    F(StackBase, POINTER, 1, V)                                                                    \
    F(StackLimit, POINTER, 1, V)                                                                   \
    F(UserStackBase, POINTER, 1, V)                                                                \
    F(UserStackLimit, POINTER, 1, V)                                                               \
    F(StartAddr, POINTER, 1, 2)                                                                    \
    F(Affinity, POINTER, 3, V)                                                                     \
    F(Win32StartAddr, POINTER, 1, V)                                                               \
    F(WaitMode, I8, 1, 1)                                                                          \
    F(TebBase, POINTER, 2, V)                                                                      \
    F(SubProcessTag, U32, 2, V)                                                                    \
    F(BasePriority, U8, 3, V)                                                                      \
    F(PagePriority, U8, 3, V)                                                                      \
    F(IoPriority, U8, 3, V)                                                                        \
    F(ThreadFlags, U8, 3, V)                                                                       \
    F(ThreadName, UTF16, 3, V)
#define ETL_FIELDS_ThreadName(F)                                                                   \
    F(ProcessId, U32, 0, V) F(TThreadId, U32, 0, V) F(ThreadName, UTF16, 0, V)
#define ETL_FIELDS_CSwitch(F)                                                                      \
    F(NewThreadId, U32, 0, V)                                                                      \
    F(OldThreadId, U32, 0, V)                                                                      \
    F(NewThreadPriority, I8, 0, V)                                                                 \
    F(OldThreadPriority, I8, 0, V)                                                                 \
    F(PreviousCState, U8, 0, V)                                                                    \
    F(SpareByte, I8, 0, V)                                                                         \
    F(OldThreadWaitReason, I8, 0, V)                                                               \
    F(OldThreadWaitMode, I8, 0, V)                                                                 \
    F(OldThreadState, I8, 0, V)                                                                    \
    F(OldThreadWaitIdealProcessor, I8, 0, V)                                                       \
    F(NewThreadWaitTime, U32, 0, V)                                                                \
    F(Reserved, U32, 0, V)
#define ETL_FIELDS_ReadyThread(F)                                                                  \
    F(TThreadId, U32, 0, V)                                                                        \
    F(AdjustReason, I8, 0, V)                                                                      \
    F(AdjustIncrement, I8, 0, V) F(Flag, I8, 0, V) F(Reserved, I8, 0, V)
#define ETL_FIELDS_SetPriority(F)                                                                  \
    F(ThreadId, U32, 0, V) F(OldPriority, U8, 0, V) F(NewPriority, U8, 0, V) F(Reserved, U16, 0, V)
#define ETL_FIELDS_SpinLock(F)                                                                     \
    F(SpinLockAddress, POINTER, 0, V)                                                              \
    F(CallerAddress, POINTER, 0, V)                                                                \
    F(AcquireTime, U64, 0, V)                                                                      \
    F(ReleaseTime, U64, 0, V)                                                                      \
    F(WaitTimeInCycles, U32, 0, V)                                                                 \
    F(SpinCount, U32, 0, V)                                                                        \
    F(ThreadId, U32, 0, V)                                                                         \
    F(InterruptCount, U32, 0, V) F(Irql, U8, 0, V) F(AcquireDepth, U8, 0, V) F(Flag, U8, 0, V)
#define ETL_FIELDS_BoostSet(F)                                                                     \
    F(Lock, POINTER, 0, V)                                                                         \
    F(ThreadId, U32, 0, V)                                                                         \
    F(NewCpuPriorityFloor, U8, 0, V)                                                               \
    F(OldCpuPriority, U8, 0, V) F(IoPriorities, U8, 0, V) F(BoostFlags, U8, 0, V)
#define ETL_FIELDS_BoostClear(F)                                                                   \
    F(LockAddress, POINTER, 0, V)                                                                  \
    F(ThreadId, U32, 0, V) F(BoostBitmap, U16, 0, V) F(Reserved, U16, 0, V)
#define ETL_FIELDS_BoostExhausted(F) F(LockAddress, POINTER, 0, V) F(ThreadId, U32, 0, V)

#define ETL_FIELDS_Image(F)                                                                        \
    F(BaseAddress, POINTER, 0, V)                                                                  \
    F(ModuleSize, U32, 0, 0)                                                                       \
    F(ModuleSize, POINTER, 1, V)                                                                   \
    F(ProcessId, U32, 1, V)                                                                        \
    F(ImageCheckSum, U32, 2, V)                                                                    \
    F(TimeDateStamp, U32, 2, V)                                                                    \
    F(Reserved0, U32, 2, 2)                                                                        \
    F(SignatureLevel, U8, 3, V)                                                                    \
    F(SignatureType, U8, 3, V)                                                                     \
    F(Reserved0, U16, 3, V)                                                                        \
    F(DefaultBase, POINTER, 2, V)                                                                  \
    F(Reserved1, U32, 2, V)                                                                        \
    F(Reserved2, U32, 2, V)                                                                        \
    F(Reserved3, U32, 2, V) F(Reserved4, U32, 2, V) F(ImageFileName, UTF16, 0, V)
#define ETL_FIELDS_KernelBase(F) F(BaseAddress, POINTER, 0, V)

#define ETL_FIELDS_SampleProf(F)                                                                   \
    F(InstructionPointer, POINTER, 0, V)                                                           \
    F(ThreadId, U32, 0, V) F(Count, U16, 0, V) F(Reserved, U16, 0, V)
#define ETL_FIELDS_Interval(F)                                                                     \
    F(Source, U32, 0, V)                                                                           \
    F(NewInterval, U32, 0, V) F(OldInterval, U32, 0, V) F(SourceName, UTF16, 3, V)
#define ETL_FIELDS_SpinLockConfig(F)                                                               \
    F(SpinLockSpinThreshold, U32, 0, V)                                                            \
    F(SpinLockContentionSampleRate, U32, 0, V)                                                     \
    F(SpinLockAcquireSampleRate, U32, 0, V) F(SpinLockHoldThreshold, U32, 0, V)
#define ETL_FIELDS_Dpc(F) F(InitialTime, U64, 0, V) F(Routine, POINTER, 0, V)
#define ETL_FIELDS_Isr(F)                                                                          \
    F(InitialTime, U64, 0, V)                                                                      \
    F(Routine, POINTER, 0, V) F(ReturnValue, U8, 0, V) F(Vector, U16, 0, V) F(Reserved, U8, 0, V)
#define ETL_FIELDS_IsrMsi(F)       ETL_FIELDS_Isr(F) F(MessageNumber, U32, 0, V)
#define ETL_FIELDS_SysCallEnter(F) F(SysCallAddress, POINTER, 0, V)
#define ETL_FIELDS_SysCallExit(F)  F(SysCallNtStatus, U32, 0, V)

#define ETL_FIELDS_Stack(F)                                                                        \
    F(EventTimeStamp, U64, 0, V)                                                                   \
    F(StackProcess, U32, 0, V) F(StackThread, U32, 0, V) F(Stack, ADDRESSES, 0, V)
#define ETL_FIELDS_StackKey(F) F(StackKey, POINTER, 0, V) F(Stack, ADDRESSES, 0, V)
#define ETL_FIELDS_StackRef(F)                                                                     \
    F(EventTimeStamp, U64, 0, V)                                                                   \
    F(StackProcess, U32, 0, V) F(StackThread, U32, 0, V) F(StackKey, POINTER, 0, V)

#define ETL_FIELDS_SoftFault(F) F(VirtualAddress, POINTER, 0, V) F(ProgramCounter, POINTER, 0, V)
#define ETL_FIELDS_HardFault(F)                                                                    \
    F(InitialTime, U64, 0, V)                                                                      \
    F(ReadOffset, U64, 0, V)                                                                       \
    F(VirtualAddress, POINTER, 0, V)                                                               \
    F(FileObject, POINTER, 0, V) F(TThreadId, U32, 0, V) F(ByteCount, U32, 0, V)
#define ETL_FIELDS_VirtualAlloc(F)                                                                 \
    F(BaseAddress, POINTER, 0, V)                                                                  \
    F(RegionSize, POINTER, 0, V) F(ProcessId, U32, 0, V) F(Flags, U32, 0, V)

#define ETL_FIELDS_DiskIo(F)                                                                       \
    F(DiskNumber, U32, 0, V)                                                                       \
    F(IrpFlags, U32, 0, V)                                                                         \
    F(TransferSize, U32, 0, V)                                                                     \
    F(Reserved, U32, 0, V)                                                                         \
    F(ByteOffset, U64, 0, V)                                                                       \
    F(FileObject, POINTER, 0, V)                                                                   \
    F(Irp, POINTER, 0, V) F(HighResResponseTime, U64, 0, V) F(IssuingThreadId, U32, 3, V)
#define ETL_FIELDS_DiskInit(F) F(Irp, POINTER, 0, V) F(IssuingThreadId, U32, 3, V)
#define ETL_FIELDS_DiskFlush(F)                                                                    \
    F(DiskNumber, U32, 0, V)                                                                       \
    F(IrpFlags, U32, 0, V)                                                                         \
    F(HighResResponseTime, U64, 0, V) F(Irp, POINTER, 0, V) F(IssuingThreadId, U32, 3, V)

// Up to version 2 the thread stands before the file, as a pointer.
#define ETL_FIELDS_FileName(F) F(FileObject, POINTER, 0, V) F(FileName, UTF16, 0, V)
#define ETL_FIELDS_FileCreate(F)                                                                   \
    F(IrpPtr, POINTER, 0, V)                                                                       \
    F(TTID, POINTER, 0, 2)                                                                         \
    F(FileObject, POINTER, 0, V)                                                                   \
    F(TTID, U32, 3, V)                                                                             \
    F(CreateOptions, U32, 0, V)                                                                    \
    F(FileAttributes, U32, 0, V) F(ShareAccess, U32, 0, V) F(OpenPath, UTF16, 0, V)
#define ETL_FIELDS_FileSimple(F)                                                                   \
    F(IrpPtr, POINTER, 0, V)                                                                       \
    F(TTID, POINTER, 0, 2)                                                                         \
    F(FileObject, POINTER, 0, V) F(FileKey, POINTER, 0, V) F(TTID, U32, 3, V)
#define ETL_FIELDS_FileReadWrite(F)                                                                \
    F(Offset, U64, 0, V)                                                                           \
    F(IrpPtr, POINTER, 0, V)                                                                       \
    F(TTID, POINTER, 0, 2)                                                                         \
    F(FileObject, POINTER, 0, V)                                                                   \
    F(FileKey, POINTER, 0, V)                                                                      \
    F(TTID, U32, 3, V) F(IoSize, U32, 0, V) F(IoFlags, U32, 0, V) F(ExtraFlags, U32, 3, V)
#define ETL_FIELDS_FileInfo(F)                                                                     \
    F(IrpPtr, POINTER, 0, V)                                                                       \
    F(TTID, POINTER, 0, 2)                                                                         \
    F(FileObject, POINTER, 0, V)                                                                   \
    F(FileKey, POINTER, 0, V)                                                                      \
    F(ExtraInfo, POINTER, 0, V) F(TTID, U32, 3, V) F(InfoClass, U32, 0, V)
#define ETL_FIELDS_FilePath(F) ETL_FIELDS_FileInfo(F) F(FileName, UTF16, 0, V)
#define ETL_FIELDS_FileDirectory(F)                                                                \
    ETL_FIELDS_FileSimple(F) F(Length, U32, 0, V) F(InfoClass, U32, 0, V) F(FileIndex, U32, 0, V)  \
        F(FileName, UTF16, 0, V)
#define ETL_FIELDS_FileOperationEnd(F)                                                             \
    F(IrpPtr, POINTER, 0, V) F(ExtraInfo, POINTER, 0, V) F(NtStatus, U32, 0, V)

#define ETL_FIELDS_TcpIp(F)                                                                        \
    F(PID, U32, 0, V)                                                                              \
    F(size, U32, 0, V)                                                                             \
    F(daddr, U32, 0, V)                                                                            \
    F(saddr, U32, 0, V)                                                                            \
    F(dport, U16, 0, V) F(sport, U16, 0, V) F(seqnum, U32, 0, V) F(connid, POINTER, 0, V)
#define ETL_FIELDS_TcpSend(F)                                                                      \
    F(PID, U32, 0, V)                                                                              \
    F(size, U32, 0, V)                                                                             \
    F(daddr, U32, 0, V)                                                                            \
    F(saddr, U32, 0, V)                                                                            \
    F(dport, U16, 0, V)                                                                            \
    F(sport, U16, 0, V)                                                                            \
    F(startime, U32, 0, V)                                                                         \
    F(endtime, U32, 0, V) F(seqnum, U32, 0, V) F(connid, POINTER, 0, V)
#define ETL_FIELDS_TcpConnect(F)                                                                   \
    F(PID, U32, 0, V)                                                                              \
    F(size, U32, 0, V)                                                                             \
    F(daddr, U32, 0, V)                                                                            \
    F(saddr, U32, 0, V)                                                                            \
    F(dport, U16, 0, V)                                                                            \
    F(sport, U16, 0, V)                                                                            \
    F(mss, U16, 0, V)                                                                              \
    F(sackopt, U16, 0, V)                                                                          \
    F(tsopt, U16, 0, V)                                                                            \
    F(wsopt, U16, 0, V)                                                                            \
    F(rcvwin, U32, 0, V)                                                                           \
    F(rcvwinscale, I16, 0, V)                                                                      \
    F(sndwinscale, I16, 0, V) F(seqnum, U32, 0, V) F(connid, POINTER, 0, V)

#define ETL_FIELDS_Registry(F)                                                                     \
    F(InitialTime, I64, 2, V)                                                                      \
    F(Status, U32, 0, V)                                                                           \
    F(KeyHandle, POINTER, 0, 1)                                                                    \
    F(ElapsedTime, I64, 0, 1)                                                                      \
    F(Index, U32, 0, V) F(KeyHandle, POINTER, 2, V) F(KeyName, UTF16, 0, V)
#define ETL_FIELDS_RegistryCounters(F)                                                             \
    F(Counter1, U64, 0, V)                                                                         \
    F(Counter2, U64, 0, V)                                                                         \
    F(Counter3, U64, 0, V)                                                                         \
    F(Counter4, U64, 0, V)                                                                         \
    F(Counter5, U64, 0, V)                                                                         \
    F(Counter6, U64, 0, V)                                                                         \
    F(Counter7, U64, 0, V)                                                                         \
    F(Counter8, U64, 0, V) F(Counter9, U64, 0, V) F(Counter10, U64, 0, V) F(Counter11, U64, 0, V)
#define ETL_FIELDS_RegistryConfig(F) F(CurrentControlSet, U32, 0, V)

#define ETL_FIELDS_Extension(F)                                                                    \
    F(GroupMask1, U32, 0, V)                                                                       \
    F(GroupMask2, U32, 0, V)                                                                       \
    F(GroupMask3, U32, 0, V)                                                                       \
    F(GroupMask4, U32, 0, V)                                                                       \
    F(GroupMask5, U32, 0, V)                                                                       \
    F(GroupMask6, U32, 0, V)                                                                       \
    F(GroupMask7, U32, 0, V) F(GroupMask8, U32, 0, V) F(KernelEventVersion, U32, 0, V)

// Microsoft-Windows-Kernel-Process
#define ETL_FIELDS_ManifestProcessStart(F)                                                         \
    F(ProcessID, U32, 0, V)                                                                        \
    F(ProcessSequenceNumber, U64, 3, V)                                                            \
    F(CreateTime, U64, 0, V)                                                                       \
    F(ParentProcessID, U32, 0, V)                                                                  \
    F(ParentProcessSequenceNumber, U64, 3, V)                                                      \
    F(SessionID, U32, 0, V)                                                                        \
    F(Flags, U32, 1, V)                                                                            \
    F(ProcessTokenElevationType, U32, 3, V)                                                        \
    F(ProcessTokenIsElevated, U32, 3, V)                                                           \
    F(MandatoryLabel, SID, 3, V)                                                                   \
    F(ImageName, UTF16, 0, V)                                                                      \
    F(ImageChecksum, U32, 2, V)                                                                    \
    F(TimeDateStamp, U32, 2, V)                                                                    \
    F(PackageFullName, UTF16, 2, V) F(PackageRelativeAppId, UTF16, 2, V)
#define ETL_FIELDS_ManifestProcessStop(F)                                                          \
    F(ProcessID, U32, 0, V)                                                                        \
    F(ProcessSequenceNumber, U64, 2, V)                                                            \
    F(CreateTime, U64, 0, V)                                                                       \
    F(ExitTime, U64, 0, V)                                                                         \
    F(ExitCode, U32, 0, V)                                                                         \
    F(TokenElevationType, U32, 0, V)                                                               \
    F(HandleCount, U32, 0, V)                                                                      \
    F(CommitCharge, U64, 0, V)                                                                     \
    F(CommitPeak, U64, 0, V)                                                                       \
    F(CPUCycleCount, U64, 1, V)                                                                    \
    F(ReadOperationCount, U32, 1, V)                                                               \
    F(WriteOperationCount, U32, 1, V)                                                              \
    F(ReadTransferKiloBytes, U32, 1, V)                                                            \
    F(WriteTransferKiloBytes, U32, 1, V) F(HardFaultCount, U32, 1, V) F(ImageName, ANSI, 0, V)
// As a start, two versions behind.
#define ETL_FIELDS_ManifestProcessRundown(F)                                                       \
    F(ProcessID, U32, 0, V)                                                                        \
    F(ProcessSequenceNumber, U64, 1, V)                                                            \
    F(CreateTime, U64, 0, V)                                                                       \
    F(ParentProcessID, U32, 0, V)                                                                  \
    F(ParentProcessSequenceNumber, U64, 1, V)                                                      \
    F(SessionID, U32, 0, V)                                                                        \
    F(Flags, U32, 0, V)                                                                            \
    F(ProcessTokenElevationType, U32, 1, V)                                                        \
    F(ProcessTokenIsElevated, U32, 1, V)                                                           \
    F(MandatoryLabel, SID, 1, V)                                                                   \
    F(ImageName, UTF16, 0, V)                                                                      \
    F(ImageChecksum, U32, 0, V)                                                                    \
    F(TimeDateStamp, U32, 0, V)                                                                    \
    F(PackageFullName, UTF16, 0, V) F(PackageRelativeAppId, UTF16, 0, V)
#define ETL_FIELDS_ManifestThread(F)                                                               \
    F(ProcessID, U32, 0, V)                                                                        \
    F(ThreadID, U32, 0, V)                                                                         \
    F(StackBase, POINTER, 0, V)                                                                    \
    F(StackLimit, POINTER, 0, V)                                                                   \
    F(UserStackBase, POINTER, 0, V)                                                                \
    F(UserStackLimit, POINTER, 0, V)                                                               \
    F(StartAddr, POINTER, 0, V)                                                                    \
    F(Win32StartAddr, POINTER, 0, V)                                                               \
    F(TebBase, POINTER, 0, V) F(SubProcessTag, U32, 1, V) F(CycleTime, U64, 1, V)
#define ETL_FIELDS_ManifestPriority(F)                                                             \
    F(ProcessID, U32, 0, V) F(ThreadID, U32, 0, V) F(OldPriority, U8, 0, V) F(NewPriority, U8, 0, V)
#define ETL_FIELDS_ManifestImage(F)                                                                \
    F(ImageBase, POINTER, 0, V)                                                                    \
    F(ImageSize, POINTER, 0, V)                                                                    \
    F(ProcessID, U32, 0, V)                                                                        \
    F(ImageCheckSum, U32, 0, V)                                                                    \
    F(TimeDateStamp, U32, 0, V) F(DefaultBase, POINTER, 0, V) F(ImageName, UTF16, 0, V)

/**
 * The pause program, which holds the namespaces of a pod, as machine code: nothing has to be compiled, downloaded or
 * found on the host.
 * It ignores SIGCHLD, so that the kernel reaps its children in pods that share a process namespace; exits with 0 on
 * SIGTERM and SIGINT, which process 1 would ignore without a handler; and sleeps. This is the behaviour of upstream's
 * build/pause/linux/pause.c, which reaps children in a handler.
 * Format: the kernel's struct sigaction on Linux (handler, flags, restorer, mask: 8 bytes each on both architectures).
 */

import { entryAddress, executable, type Architecture } from "../elf.ts"

const SIGINT = 2
const SIGTERM = 15
const SIGCHLD = 17
const SIG_IGN = 1n
/** x86-64 refuses a handler without a restorer. This handler does not return, so any address will do. */
const SA_RESTORER = 0x0400_0000n

interface Program {
  readonly code: Uint8Array
  /** The offset of the signal handler in the code. */
  readonly handler: number
}

/** Two sigaction structs follow the code: for the ignored signal, and for those that end the program. */
const SIGACTION = 32

function amd64(): Program {
  // lea takes the distance from the end of its own instruction to the sigaction behind the code.
  const lea = (end: number, sigaction: number) => [0x48, 0x8d, 0x35, 60 + sigaction * SIGACTION - end, 0, 0, 0]
  const code = [
    0x6a,
    0x08, // push 8
    0x41,
    0x5a, // pop r10          size of a signal mask
    0x31,
    0xd2, // xor edx, edx     the old action is not wanted
    ...lea(13, 0), // lea rsi, ignore
    0x6a,
    SIGCHLD,
    0x5f, // push, pop rdi
    0x6a,
    13,
    0x58, // push, pop rax    rt_sigaction
    0x0f,
    0x05, // syscall
    ...lea(28, 1), // lea rsi, quit
    0x6a,
    SIGTERM,
    0x5f,
    0x6a,
    13,
    0x58,
    0x0f,
    0x05,
    0x6a,
    SIGINT,
    0x5f,
    0x6a,
    13,
    0x58,
    0x0f,
    0x05,
    0x6a,
    34,
    0x58, // push, pop rax    pause
    0x0f,
    0x05,
    0xeb,
    0xf9, // jmp back to the pause
    0x31,
    0xff, // handler: xor edi, edi
    0xb8,
    231,
    0,
    0,
    0, // mov eax, exit_group
    0x0f,
    0x05,
  ]
  return { code: Uint8Array.from(code), handler: 51 }
}

function arm64(): Program {
  const movz = (register: number, value: number) => 0xd280_0000 | (value << 5) | register
  const svc = 0xd400_0001
  // adr counts from itself. 20 instructions stand before the sigactions.
  const adr = (register: number, at: number, sigaction: number) => {
    const offset = 20 * 4 + sigaction * SIGACTION - at * 4
    return 0x1000_0000 | ((offset & 3) << 29) | ((offset >> 2) << 5) | register
  }
  const branch = (by: number) => 0x1400_0000 | (by & 0x03ff_ffff)
  const words = [
    movz(2, 0), // the old action is not wanted
    movz(3, 8), // size of a signal mask
    movz(8, 134), // rt_sigaction
    adr(1, 3, 0),
    movz(0, SIGCHLD),
    svc,
    adr(1, 6, 1),
    movz(0, SIGTERM),
    svc,
    movz(0, SIGINT), // the result of a call is in x0, all else is kept
    svc,
    movz(0, 0), // ppoll of no files without a timeout; this machine has no pause
    movz(1, 0),
    movz(3, 0),
    movz(8, 73),
    svc,
    branch(-5),
    movz(0, 0), // handler
    movz(8, 94), // exit_group
    svc,
  ]
  const code = new Uint8Array(words.length * 4)
  const view = new DataView(code.buffer)
  words.forEach((word, i) => view.setUint32(i * 4, word >>> 0, true))
  return { code, handler: 17 * 4 }
}

/** A static executable for Linux, some 240 bytes. */
export function pauseExecutable(architecture: Architecture): Uint8Array {
  const { code, handler } = architecture === "amd64" ? amd64() : arm64()
  const program = new Uint8Array(code.length + 2 * SIGACTION)
  program.set(code)
  const view = new DataView(program.buffer)
  view.setBigUint64(code.length, SIG_IGN, true)
  const quit = code.length + SIGACTION
  const handlerAddress = BigInt(entryAddress() + handler)
  view.setBigUint64(quit, handlerAddress, true)
  view.setBigUint64(quit + 8, SA_RESTORER, true)
  view.setBigUint64(quit + 16, handlerAddress, true)
  return executable(architecture, program)
}

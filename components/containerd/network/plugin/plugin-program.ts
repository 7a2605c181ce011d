/**
 * The program that containerd starts as our CNI plugin, as machine code: it is ready in less than a millisecond, which
 * no script and no runtime is, and nothing has to be compiled, downloaded or found on the host.
 * It connects to the socket of k3ts and then makes the system calls that it is told to, one after another: it reads a
 * frame of 4096 bytes (number, five arguments, data), makes the call, writes the result over the number and sends the
 * frame back. So all that a plugin does is decided in `pod-interface.ts`, while the process that the kernel keeps
 * waiting for locks and network namespaces is this one. It has no rights but those of its caller, and obeys only a
 * socket in a folder of root.
 */
import { executable, SCRATCH_ADDRESS, type Architecture } from "../../elf.ts"

export const FRAME = 4096
/** The number of the system call and its arguments come before the data, 8 bytes each. */
export const FRAME_DATA = 48
/** Where a call finds the frame's data in the memory of the program. */
export const DATA_ADDRESS = SCRATCH_ADDRESS + FRAME_DATA

/** A listing as a disassembler prints it: bytes, instruction. `address` and `message` are data that follow the code. */
const AMD64 = `
  bf 01 00 00 00        mov edi, 0x1                ; AF_UNIX
  be 01 00 08 00        mov esi, 0x80001            ; SOCK_STREAM | SOCK_CLOEXEC
  31 d2                 xor edx, edx
  b8 29 00 00 00        mov eax, 0x29               ; socket
  0f 05                 syscall
  41 89 c4              mov r12d, eax
  89 c7                 mov edi, eax
  48 8d 35 93 00 00 00  lea rsi, address
  ba 6e 00 00 00        mov edx, 0x6e               ; the size of sockaddr_un
  b8 2a 00 00 00        mov eax, 0x2a               ; connect
  0f 05                 syscall
  85 c0                 test eax, eax
  75 5f                 jne fail
next:
  bb 00 00 50 00        mov ebx, 0x500000           ; the frame
  bd 00 10 00 00        mov ebp, 0x1000             ; bytes that are to come
more:
  44 89 e7              mov edi, r12d
  89 de                 mov esi, ebx
  89 ea                 mov edx, ebp
  31 c0                 xor eax, eax                ; read
  0f 05                 syscall
  85 c0                 test eax, eax
  7e 46                 jle fail
  01 c3                 add ebx, eax
  29 c5                 sub ebp, eax
  75 eb                 jne more
  bb 00 00 50 00        mov ebx, 0x500000
  48 8b 03              mov rax, [rbx]              ; the call
  48 8b 7b 08           mov rdi, [rbx+0x8]
  48 8b 73 10           mov rsi, [rbx+0x10]
  48 8b 53 18           mov rdx, [rbx+0x18]
  4c 8b 53 20           mov r10, [rbx+0x20]
  4c 8b 43 28           mov r8, [rbx+0x28]
  45 31 c9              xor r9d, r9d
  0f 05                 syscall
  48 89 03              mov [rbx], rax
  44 89 e7              mov edi, r12d
  89 de                 mov esi, ebx
  ba 00 10 00 00        mov edx, 0x1000
  41 ba 00 40 00 00     mov r10d, 0x4000            ; MSG_NOSIGNAL
  45 31 c0              xor r8d, r8d
  b8 2c 00 00 00        mov eax, 0x2c               ; sendto
  0f 05                 syscall
  eb a1                 jmp next
fail:
  bf 01 00 00 00        mov edi, 0x1                ; standard output
  48 8d 35 88 00 00 00  lea rsi, message
  ba 00 01 00 00        mov edx, 0x100
  b8 01 00 00 00        mov eax, 0x1                ; write
  0f 05                 syscall
  bf 01 00 00 00        mov edi, 0x1                ; exit code
  b8 e7 00 00 00        mov eax, 0xe7               ; exit_group
  0f 05                 syscall
`
/** Words of four bytes instead of single bytes. */
const ARM64 = `
  d2800020              mov x0, #0x1                ; AF_UNIX
  d2800021              mov x1, #0x1
  f2a00101              movk x1, #0x8, lsl #16      ; SOCK_STREAM | SOCK_CLOEXEC
  d2800002              mov x2, #0x0
  d28018c8              mov x8, #0xc6               ; socket
  d4000001              svc #0x0
  aa0003f3              mov x19, x0
  d2a00a14              mov x20, #0x500000          ; the frame
  100004e1              adr x1, address
  d2800dc2              mov x2, #0x6e               ; the size of sockaddr_un
  d2801968              mov x8, #0xcb               ; connect
  d4000001              svc #0x0
  b5000360              cbnz x0, fail
next:
  aa1403f5              mov x21, x20
  d2820016              mov x22, #0x1000            ; bytes that are to come
more:
  aa1303e0              mov x0, x19
  aa1503e1              mov x1, x21
  aa1603e2              mov x2, x22
  d28007e8              mov x8, #0x3f               ; read
  d4000001              svc #0x0
  f100001f              cmp x0, #0x0
  5400024d              b.le fail
  8b0002b5              add x21, x21, x0
  eb0002d6              subs x22, x22, x0
  54fffee1              b.ne more
  a9400288              ldp x8, x0, [x20]           ; the call
  a9410a81              ldp x1, x2, [x20, #16]
  a9421283              ldp x3, x4, [x20, #32]
  d2800005              mov x5, #0x0
  d4000001              svc #0x0
  f9000280              str x0, [x20]
  aa1303e0              mov x0, x19
  aa1403e1              mov x1, x20
  d2820002              mov x2, #0x1000
  d2880003              mov x3, #0x4000             ; MSG_NOSIGNAL
  d2800004              mov x4, #0x0
  d28019c8              mov x8, #0xce               ; sendto
  d4000001              svc #0x0
  17ffffe7              b next
fail:
  d2800020              mov x0, #0x1                ; standard output
  10000461              adr x1, message
  d2802002              mov x2, #0x100
  d2800808              mov x8, #0x40               ; write
  d4000001              svc #0x0
  d2800020              mov x0, #0x1                ; exit code
  d2800bc8              mov x8, #0x5e               ; exit_group
  d4000001              svc #0x0
`

/** Source: linux/un.h, struct sockaddr_un, and room for alignment. */
const SOCKADDR = 112
/** Bytes of a path with its end, 108 in sockaddr_un. */
const LONGEST_PATH = 107
const MESSAGE = 256

/** Returns the plugin as a static executable that connects to the Unix socket `path`, of up to 107 bytes. */
export function pluginExecutable(architecture: Architecture, path: string): Uint8Array {
  if (Buffer.byteLength(path) > LONGEST_PATH)
    throw new Error(`Cannot connect to the socket ${path}: its path is longer than ${LONGEST_PATH} bytes`)
  const code = architecture === "amd64" ? assembled(AMD64) : assembled(ARM64, 4)
  return executable(architecture, Buffer.concat([code, addressOf(path), messageOf(path)]), FRAME)
}

/** Returns the bytes of a listing, in which the processor's words have so many bytes each. */
function assembled(listing: string, word = 1): Buffer {
  const words = listing
    .split("\n")
    .flatMap((line) => /^ {2}((?:[0-9a-f]{2,8} )+)/.exec(line)?.[1]!.trim().split(" ") ?? [])
  return Buffer.concat(words.map((hex) => Buffer.from(hex, "hex").reverse().subarray(0, word)))
}

function addressOf(path: string): Buffer {
  const address = Buffer.alloc(SOCKADDR)
  address.writeUInt16LE(AF_UNIX)
  address.write(path, 2)
  return address
}
const AF_UNIX = 1

/**
 * The error that the plugin prints when k3ts does not answer; white space fills the rest of the buffer. Source: CNI
 * spec, code 11.
 */
const messageOf = (path: string): Buffer =>
  Buffer.from(JSON.stringify({ cniVersion: "1.0.0", code: 11, msg: `k3ts does not answer at ${path}` }).padEnd(MESSAGE))

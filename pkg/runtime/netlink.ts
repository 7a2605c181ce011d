import { dlopen, FFIType, read, type Pointer } from "bun:ffi"
import { closeSync, openSync } from "node:fs"
import { NETLINK_ROUTE } from "../netlink/links.ts"
import { kernelError, type NetlinkFile } from "../netlink/socket.ts"

/** Sources: bits/socket.h, linux/sched.h, linux/netlink.h, asm-generic/errno.h. */
const [AF_NETLINK, SOCK_RAW_CLOEXEC, MSG_DONTWAIT, CLONE_NEWNET] = [16, 3 | 0o2000000, 0x40, 0x4000_0000]
const [SOL_NETLINK, NETLINK_CAP_ACK] = [270, 10]
const [EAGAIN, SOCK_NONBLOCK] = [11, 0o4000]
/** The kernel puts at most 32 KiB of a list into one datagram. */
const DATAGRAM = 64 * 1024

const openLibc = () =>
  dlopen("libc.so.6", {
    socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
    setsockopt: {
      args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr, FFIType.u32],
      returns: FFIType.i32,
    },
    bind: { args: [FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
    send: { args: [FFIType.i32, FFIType.ptr, FFIType.u64, FFIType.i32], returns: FFIType.i64 },
    recv: { args: [FFIType.i32, FFIType.ptr, FFIType.u64, FFIType.i32], returns: FFIType.i64 },
    setns: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 },
    close: { args: [FFIType.i32], returns: FFIType.i32 },
    __errno_location: { args: [], returns: FFIType.ptr },
  })
type Libc = ReturnType<typeof openLibc>

/**
 * Opens a netlink socket of this process, through the C library, since the node: modules have no such sockets. `netns`
 * is the name of a network namespace instead of the process's own: the thread enters it for the call only.
 * @throws KernelError when the machine does not allow it
 */
export function openNetlink(protocol: number, netns?: string): NetlinkFile & { close(): void } {
  const libc = openLibc()
  try {
    const socket = netns === undefined ? socketOf(libc, protocol) : within(libc, netns, () => socketOf(libc, protocol))
    const buffer = Buffer.alloc(DATAGRAM)
    return {
      async send(bytes) {
        if (Number(libc.symbols.send(socket, bytes, bytes.length, 0)) < 0) throw lastError(libc, "send")
      },
      async receive() {
        const size = Number(libc.symbols.recv(socket, buffer, buffer.length, MSG_DONTWAIT))
        if (size >= 0) return Buffer.from(buffer.subarray(0, size))
        const err = lastError(libc, "recv")
        if (err.errno === EAGAIN) return undefined
        throw err
      },
      close() {
        libc.symbols.close(socket)
        libc.close()
      },
    }
  } catch (err) {
    libc.close()
    throw err
  }
}

function socketOf(libc: Libc, protocol: number, flags = 0): number {
  const socket = libc.symbols.socket(AF_NETLINK, SOCK_RAW_CLOEXEC | flags, protocol)
  if (socket < 0) throw lastError(libc, "socket")
  // The answer to a failed message need not contain the message.
  libc.symbols.setsockopt(socket, SOL_NETLINK, NETLINK_CAP_ACK, Buffer.from([1, 0, 0, 0]), 4)
  return socket
}

/** Runs `action`, which must not await, with the thread in another network namespace. */
function within<T>(libc: Libc, netns: string, action: () => T): T {
  const [own, other] = [openSync("/proc/thread-self/ns/net", "r"), openSync(`/run/netns/${netns}`, "r")]
  const enter = (file: number) => {
    if (libc.symbols.setns(file, CLONE_NEWNET) < 0) throw lastError(libc, "setns")
  }
  try {
    enter(other)
    try {
      return action()
    } finally {
      enter(own)
    }
  } finally {
    closeSync(own)
    closeSync(other)
  }
}

/**
 * Calls `heard` when the kernel reports a change in one of the multicast groups of NETLINK_ROUTE in `groups` (one bit
 * each), and when it had more reports than its buffer holds. Returns a function that ends the calls.
 * @throws KernelError when the machine does not allow it
 */
export function hearNetlink(groups: number, heard: () => void, netns?: string): () => void {
  const libc = openLibc()
  try {
    const open = () => socketOf(libc, NETLINK_ROUTE, SOCK_NONBLOCK)
    const socket = netns === undefined ? open() : within(libc, netns, open)
    // `struct sockaddr_nl`: family, padding, port (0: the kernel chooses it), groups.
    const address = Buffer.alloc(12)
    address.writeUInt16LE(AF_NETLINK, 0)
    address.writeUInt32LE(groups, 8)
    if (libc.symbols.bind(socket, address, address.length) < 0) throw lastError(libc, "bind")
    let isOver = false
    let reader: ReadableStreamDefaultReader<Uint8Array>
    // Bun's event loop waits for a socket that is opened as a file.
    const read = () => (reader = Bun.file(socket).stream().getReader())
    const follow = async (): Promise<void> => {
      read()
      // ENOBUFS says that the kernel has dropped reports; the socket still works. After two failures in a row it is
      // given up.
      for (let failures = 0; !isOver && failures < 2;) {
        const isGood = await reader.read().then(
          ({ done }) => !done,
          () => false,
        )
        if (isOver) return
        failures = isGood ? 0 : failures + 1
        if (!isGood) read()
        heard()
      }
    }
    void follow()
    return () => {
      if (isOver) return
      isOver = true
      void reader.cancel().finally(() => {
        libc.symbols.close(socket)
        libc.close()
      })
    }
  } catch (err) {
    libc.close()
    throw err
  }
}

const lastError = (libc: Libc, call: string) =>
  kernelError(call, read.i32(libc.symbols.__errno_location() as Pointer, 0))

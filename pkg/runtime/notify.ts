import { dlopen, FFIType } from "bun:ffi"

/** Sources: bits/socket.h, linux/un.h. */
const AF_UNIX = 1
const SOCK_DGRAM_CLOEXEC = 2 | 0o2000000
/** MSG_NOSIGNAL and MSG_DONTWAIT: a service manager that does not read must not stop the program. */
const MSG_FLAGS = 0x4000 | 0x40
const MAX_PATH = 108

/** A socket that sends datagrams to one unix socket. */
export interface DatagramSender {
  /** @throws Error when the text cannot be sent */
  send(text: string): void
  close(): void
}

/**
 * Opens a socket that sends datagrams to the unix socket at `path`: this is how a service manager is told the state of
 * a service (sd_notify(3)). The node: modules have no unix datagrams, hence the calls of the C library. A path that
 * starts with `@` is in the abstract namespace.
 * @throws Error when the path cannot be that of a unix socket
 */
export function unixDatagrams(path: string): DatagramSender {
  const name = Buffer.from(path.startsWith("@") ? `\0${path.slice(1)}` : path)
  if (name.length >= MAX_PATH) throw new Error(`Cannot send to ${path}: the path is longer than ${MAX_PATH - 1} bytes`)
  const address = Buffer.alloc(2 + name.length + (path.startsWith("@") ? 0 : 1))
  address.writeUInt16LE(AF_UNIX) // every platform of ours is little endian
  name.copy(address, 2)
  const libc = dlopen("libc.so.6", {
    socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
    sendto: {
      args: [FFIType.i32, FFIType.ptr, FFIType.u64, FFIType.i32, FFIType.ptr, FFIType.u32],
      returns: FFIType.i64,
    },
    close: { args: [FFIType.i32], returns: FFIType.i32 },
  })
  const socket = libc.symbols.socket(AF_UNIX, SOCK_DGRAM_CLOEXEC, 0)
  if (socket < 0) {
    libc.close()
    throw new Error(`Cannot send to ${path}: the system gave no unix socket`)
  }
  return {
    send(text) {
      const body = Buffer.from(text)
      const sent = Number(libc.symbols.sendto(socket, body, body.length, MSG_FLAGS, address, address.length))
      if (sent !== body.length) throw new Error(`Cannot send to ${path}: no program receives there`)
    },
    close() {
      libc.symbols.close(socket)
      libc.close()
    },
  }
}

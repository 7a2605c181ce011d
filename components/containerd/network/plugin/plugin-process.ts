import { readFileSync } from "node:fs"
import type { Socket } from "node:net"
import { kernelError, type NetlinkFile } from "../../../../pkg/netlink/socket.ts"
import { machineArchitecture, type Architecture } from "../../elf.ts"
import { DATA_ADDRESS, FRAME, FRAME_DATA } from "./plugin-program.ts"

/** Source: asm/unistd_64.h of x86, asm-generic/unistd.h. */
const CALLS = {
  read: { amd64: 0, arm64: 63 },
  write: { amd64: 1, arm64: 64 },
  getpid: { amd64: 39, arm64: 172 },
  socket: { amd64: 41, arm64: 198 },
  sendto: { amd64: 44, arm64: 206 },
  recvfrom: { amd64: 45, arm64: 207 },
  exitGroup: { amd64: 231, arm64: 94 },
  openat: { amd64: 257, arm64: 56 },
  setns: { amd64: 308, arm64: 268 },
} as const satisfies Record<string, Record<Architecture, number>>
type Call = keyof typeof CALLS

const [AF_NETLINK, SOCK_RAW, CLOEXEC, CLONE_NEWNET, MSG_DONTWAIT] = [16, 3, 0x8_0000, 0x4000_0000, 0x40]
const AT_FDCWD = -100
const EAGAIN = 11

/** The most bytes that a frame carries to or from the process. */
const DATA = FRAME - FRAME_DATA
/** The most bytes of a configuration. One has a few hundred, and a few thousand with the result of another plugin. */
const MOST_INPUT = 1 << 20

interface Outcome {
  readonly result: number
  readonly data: Buffer
}

/** The environment and the standard input of a process. */
export interface ProcessInput {
  readonly environment: ReadonlyMap<string, string>
  readonly input: string
}

/**
 * Controls a process of `plugin-program.ts` and makes system calls in it, in order; several may be under way. When the
 * process ends, calls under way fail.
 */
export class PluginProcess {
  readonly #socket: Socket
  readonly #architecture: Architecture
  readonly #waiting: { resolve: (outcome: Outcome) => void; reject: (err: Error) => void }[] = []
  #unsent: Buffer[] = []
  #received: Buffer = Buffer.alloc(0)

  constructor(socket: Socket, architecture = machineArchitecture()!) {
    this.#socket = socket
    this.#architecture = architecture
    socket.on("data", (bytes: Buffer) => this.#receive(bytes))
    socket.on("error", () => undefined) // "close" follows
    socket.on("close", () => {
      for (const { reject } of this.#waiting.splice(0)) reject(ended())
    })
  }

  /** Returns the environment and the standard input of the process. */
  async input(): Promise<ProcessInput> {
    const pid = this.#call("getpid")
    const parts: Buffer[] = []
    let next = this.#read()
    for (let size = 0; size < MOST_INPUT;) {
      // The read that will find the end is sent together with the one before, which saves a round trip.
      const [part, following] = [next, this.#read()]
      const { result, data } = await part
      next = following
      if (result <= 0) break
      parts.push(Buffer.from(data.subarray(0, result)))
      size += result
    }
    await next
    const environment = readFileSync(`/proc/${(await pid).result}/environ`, "utf8")
    const variables = environment.split("\0").map((line) => {
      const [name = "", ...value] = line.split("=")
      return [name, value.join("=")] as const
    })
    return { environment: new Map(variables), input: Buffer.concat(parts).toString() }
  }

  #read(): Promise<Outcome> {
    return this.#call("read", [0, DATA_ADDRESS, DATA])
  }

  /**
   * Opens a network namespace, moves the process into it and opens a netlink socket there. Returns the file descriptors
   * of the namespace and the socket.
   */
  async enter(namespace: string, protocol: number): Promise<{ readonly file: number; readonly socket: NetlinkFile }> {
    const path = Buffer.from(`${namespace}\0`)
    if (path.length > DATA) throw new Error(`Cannot open ${namespace.slice(0, 100)}…: the path is too long`)
    const file = await this.#must("openat", [AT_FDCWD, DATA_ADDRESS, CLOEXEC], path)
    const [, socket] = await Promise.all([this.#must("setns", [file, CLONE_NEWNET]), this.netlink(protocol)])
    return { file, socket }
  }

  /** Opens a netlink socket in the network namespace in which the process is. */
  async netlink(protocol: number): Promise<NetlinkFile> {
    const file = await this.#must("socket", [AF_NETLINK, SOCK_RAW | CLOEXEC, protocol])
    return {
      send: async (bytes) => {
        if (bytes.length > DATA) throw new Error(`Cannot send ${bytes.length} bytes to the kernel: at most ${DATA} fit`)
        await this.#must("sendto", [file, DATA_ADDRESS, bytes.length, 0, 0], bytes)
      },
      receive: async () => {
        const { result, data } = await this.#call("recvfrom", [file, DATA_ADDRESS, DATA, MSG_DONTWAIT])
        if (result < 0 && result !== -EAGAIN) throw kernelError("recvfrom", -result)
        return result <= 0 ? undefined : data.subarray(0, result)
      },
    }
  }

  /** Prints `output` and ends the process. */
  async exit(code: number, output: string): Promise<void> {
    const bytes = Buffer.from(output)
    for (let at = 0; at < bytes.length;) {
      const part = bytes.subarray(at, at + DATA)
      at += await this.#must("write", [1, DATA_ADDRESS, part.length], part)
    }
    // The process ends without an answer.
    await this.#call("exitGroup", [code]).catch(() => undefined)
  }

  async #must(call: Call, args: readonly number[], data?: Uint8Array): Promise<number> {
    const { result } = await this.#call(call, args, data)
    if (result < 0) throw kernelError(call, -result)
    return result
  }

  #call(call: Call, args: readonly number[] = [], data?: Uint8Array): Promise<Outcome> {
    const frame = Buffer.alloc(FRAME)
    for (const [i, value] of [CALLS[call][this.#architecture], ...args].entries())
      frame.writeBigInt64LE(BigInt(value), i * 8)
    if (data !== undefined) frame.set(data, FRAME_DATA)
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
    // Calls are awaited in their order, and when the process ends, those that are not awaited yet fail too.
    promise.catch(() => undefined)
    if (this.#socket.destroyed) reject(ended())
    else {
      this.#waiting.push({ resolve, reject })
      this.#send(frame)
    }
    return promise
  }

  /** Writes a frame, together with those of the same turn. */
  #send(frame: Buffer): void {
    if (this.#unsent.push(frame) > 1) return
    queueMicrotask(() => this.#socket.write(Buffer.concat(this.#unsent.splice(0))))
  }

  #receive(bytes: Buffer): void {
    this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes])
    while (this.#received.length >= FRAME) {
      const frame = this.#received.subarray(0, FRAME)
      this.#received = this.#received.subarray(FRAME)
      this.#waiting.shift()?.resolve({ result: Number(frame.readBigInt64LE(0)), data: frame.subarray(FRAME_DATA) })
    }
  }
}

const ended = (): Error => new Error("the plugin's process has ended")

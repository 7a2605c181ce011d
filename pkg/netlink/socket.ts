import { getSystemErrorMap } from "node:util"
import { DONE, numberedAs, repliesIn, wantsAck, type Reply } from "./message.ts"
import { pushAll } from "../lists/push-all.ts"

/** A netlink socket that another process may hold. Operations may overlap, and run in the order of their calls. */
export interface NetlinkFile {
  send(bytes: Uint8Array): Promise<void>
  /** Returns the next datagram of the kernel; undefined when there is none yet. Does not wait. */
  receive(): Promise<Uint8Array | undefined>
}

/** A request that the kernel refused, or another failed system call. */
export class KernelError extends Error {
  override readonly name = "KernelError"
  constructor(
    readonly errno: number,
    message: string,
  ) {
    super(message)
  }
}

/** Returns the error of a failed operation, with the text of its error number, such as "no such file or directory". */
export const kernelError = (operation: string, errno: number): KernelError =>
  new KernelError(errno, `${operation}: ${getSystemErrorMap().get(-errno)?.[1] ?? `error ${errno}`}`)

/**
 * Sends messages in one datagram: either changes, or one question, whose answer is returned. Only the last change
 * requests an acknowledgement, because each one has to be read; the kernel reports failed changes in any case. It
 * answers while it receives the messages, so there is nothing to wait for.
 * @throws KernelError for the first message that the kernel refuses; the kernel may have applied later ones
 */
export async function request(file: NetlinkFile, messages: readonly Buffer[]): Promise<readonly Reply[]> {
  const lastAck = messages.findLastIndex(wantsAck)
  const last = lastAck === -1 ? messages.length - 1 : lastAck
  const numbered = messages.map((message, i) => numberedAs(i, message, i === last))
  const [, received] = await Promise.all([file.send(Buffer.concat(numbered)), file.receive()])
  const replies: Reply[] = []
  for (let datagram = received; datagram !== undefined; datagram = await file.receive()) {
    const failure = repliesIn(datagram).find(({ errno = 0 }) => errno > 0)
    if (failure !== undefined) {
      // Further answers are dropped, since they would be taken for the answer to the next request.
      while ((await file.receive()) !== undefined) continue
      throw kernelError("netlink", failure.errno!)
    }
    pushAll(replies, repliesIn(datagram))
    if (replies.at(-1)?.sequence === last) break
  }
  return replies.filter(({ errno }) => errno === undefined)
}

/** Sends a request with DUMP and returns all replies. */
export async function list(file: NetlinkFile, message: Uint8Array): Promise<readonly Reply[]> {
  await file.send(message)
  const replies: Reply[] = []
  for (let next = await file.receive(); next !== undefined; next = await file.receive())
    pushAll(replies, repliesIn(next))
  const failure = replies.find(({ errno = 0 }) => errno > 0)
  if (failure !== undefined) throw kernelError("netlink", failure.errno!)
  return replies.filter(({ type }) => type !== DONE)
}

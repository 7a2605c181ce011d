import { getSystemErrorMap } from "node:util"
import { DONE, repliesIn, type Reply } from "./message.ts"

/** A netlink socket that another process may hold. Operations may overlap and are done in their order. */
export interface NetlinkFile {
  send(bytes: Uint8Array): Promise<void>
  /** Returns the next datagram of the kernel; undefined when there is none. Never waits for one. */
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

/** Returns the error of a failed operation, with the words of the error's number: "no such file or directory". */
export const kernelError = (operation: string, errno: number): KernelError =>
  new KernelError(errno, `${operation}: ${getSystemErrorMap().get(-errno)?.[1] ?? `error ${errno}`}`)

/**
 * Sends messages in one datagram, each of which the kernel answers with one of its own, and returns the answers. The
 * kernel answers while it takes the messages, so nothing waits for it.
 * @throws KernelError for the first message that the kernel refuses; it may have done what the later ones say
 */
export async function request(file: NetlinkFile, messages: readonly Uint8Array[]): Promise<readonly Reply[]> {
  const sent = file.send(Buffer.concat(messages))
  const received = messages.map(() => file.receive())
  const [datagrams] = await Promise.all([Promise.all(received), sent])
  return datagrams.flatMap((datagram) => (datagram === undefined ? [] : checked(datagram)))
}

/** Sends a request with DUMP and returns all replies. */
export async function list(file: NetlinkFile, message: Uint8Array): Promise<readonly Reply[]> {
  await file.send(message)
  const replies: Reply[] = []
  for (let next = await file.receive(); next !== undefined; next = await file.receive()) replies.push(...checked(next))
  return replies.filter(({ type }) => type !== DONE)
}

function checked(datagram: Uint8Array): readonly Reply[] {
  const replies = repliesIn(datagram)
  for (const { errno = 0 } of replies) if (errno > 0) throw kernelError("netlink", errno)
  return replies
}

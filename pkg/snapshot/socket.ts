/**
 * Serves snapshots of a running server to `k3ts snapshot save`, over a unix socket below the data directory, which only
 * the owner of that directory can reach. It cannot be reached over the network.
 *
 * The client sends a line of JSON with its options. The server answers with a line of JSON, which has an `error` if the
 * request failed, and then sends the snapshot. The client writes it to its destination: so the server needs no
 * credentials for remote storage, and never works faster than the client reads.
 */
import { chmodSync, closeSync, mkdirSync, openSync, rmSync } from "node:fs"
import { connect, createServer, type Socket } from "node:net"
import { basename, dirname } from "node:path"
import type { Clock } from "../clock/clock.ts"
import type { SnapshotIndex } from "./format.ts"
import { beginListening } from "../runtime/http/begin-listening.ts"
import { errorMessage } from "../errors/error-message.ts"

/** The options of a snapshot. */
export interface SnapshotRequest {
  readonly compression: SnapshotIndex["compression"]
}

/** Returns the parts of a snapshot. An error before the first part is sent to the client. */
export type Pack = (request: SnapshotRequest) => AsyncIterable<Uint8Array>

const LINE_FEED = 10
const MOST_LINE = 4096
/** How long a client may take to send its request, or to read what was sent, in milliseconds. */
const PATIENCE_MS = 60_000
/** The number of snapshots at once: a slow one keeps earlier states of objects in memory. */
const MOST_AT_ONCE = 2

export interface SnapshotSocket {
  /** Closes the socket and ends the snapshots in progress. */
  close(): Promise<void>
}

/** Listens on the socket, which only the owner may use. @throws Error with `syscall` set */
export async function serveSnapshots(path: string, pack: Pack, clock: Clock): Promise<SnapshotSocket> {
  const clients = new Set<Socket>()
  const server = createServer((socket) => {
    clients.add(socket)
    socket.on("error", () => socket.destroy())
    socket.on("close", () => clients.delete(socket))
    const tooMany = clients.size > MOST_AT_ONCE
    serve(socket, tooMany ? refuse : pack, clock).catch((err: unknown) => {
      socket.destroy(err instanceof Error ? err : new Error(String(err)))
    })
  })
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  rmSync(path, { force: true }) // left by a killed server
  await throughFolder(path, (short) => beginListening(server, { path: short }))
  chmodSync(path, 0o600)
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of clients) socket.destroy()
        rmSync(path, { force: true })
      }),
  }
}

function refuse(): AsyncIterable<Uint8Array> {
  throw new Error(`${MOST_AT_ONCE} snapshots are in progress; try again when one of them has ended`)
}

async function serve(socket: Socket, pack: Pack, clock: Clock): Promise<void> {
  const line = await withPatience(clock, socket, firstLine(socket))
  const parts = begun(() => pack(JSON.parse(line.text) as SnapshotRequest))
  const first = await parts.next().catch((err: unknown) => ({ error: errorMessage(err) }))
  if ("error" in first) {
    socket.end(`${JSON.stringify({ error: first.error })}\n`)
    return
  }
  try {
    socket.write("{}\n")
    for (let part: IteratorResult<Uint8Array> = first; part.done !== true; part = await parts.next())
      if (!socket.write(part.value)) await withPatience(clock, socket, once(socket, "drain"))
    socket.end()
  } finally {
    await parts.return?.(undefined)
  }
}

/** Calls `make` when the first part is requested, so that its error is an error of that part. */
async function* begun(make: () => AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* make()
}

const once = (socket: Socket, event: string): Promise<void> => new Promise((resolve) => socket.once(event, resolve))

/** Rejects when the client disconnects, or takes too long. */
function withPatience<T>(clock: Clock, socket: Socket, done: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error("the client disconnected"))
    const timer = clock.setTimeout(() => socket.destroy(), PATIENCE_MS, "watchdog")
    socket.once("close", gone)
    done.then(resolve, reject).finally(() => {
      timer.cancel()
      socket.off("close", gone)
    })
    if (socket.destroyed) gone()
  })
}

/**
 * Requests a snapshot from a server. Yields its parts, the last of which may be missing when the server ends meanwhile.
 * @throws Error with the server's message, or with `syscall` set when no server listens
 */
export async function* askForSnapshot(path: string, request: SnapshotRequest): AsyncGenerator<Uint8Array> {
  const socket = await throughFolder(path, connected)
  try {
    socket.write(`${JSON.stringify(request)}\n`)
    const { text, rest } = await firstLine(socket)
    const { error } = JSON.parse(text) as { readonly error?: string }
    if (error !== undefined) throw new Error(error)
    if (rest.length > 0) yield rest
    for await (const part of socket) yield part as Buffer
  } finally {
    socket.destroy()
  }
}

/**
 * Connects. The error listener stays, because an error can occur before the answer is read; "close" reports it as well.
 */
const connected = (path: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(path, () => resolve(socket))
    socket.on("error", reject)
  })

/** Reads up to the first line feed. `rest` are the bytes after it. */
function firstLine(socket: Socket): Promise<{ readonly text: string; readonly rest: Buffer }> {
  return new Promise((resolve, reject) => {
    let got = Buffer.alloc(0)
    const finish = () => {
      socket.pause()
      socket.off("data", onData)
      socket.off("close", onClose)
    }
    const onClose = () => reject(new Error("the connection ended before its first line"))
    const onData = (part: Buffer) => {
      got = Buffer.concat([got, part])
      const end = got.indexOf(LINE_FEED)
      if (end === -1 && got.length <= MOST_LINE) return
      finish()
      if (end === -1) reject(new Error("the first line is too long"))
      else resolve({ text: got.subarray(0, end).toString(), rest: got.subarray(end + 1) })
    }
    socket.on("data", onData)
    socket.on("close", onClose)
  })
}

/**
 * Calls `use` with a short path of a socket, through its open folder, because the path of a socket has at most 107
 * bytes.
 */
async function throughFolder<T>(path: string, use: (short: string) => Promise<T>): Promise<T> {
  const folder = openSync(dirname(path), "r")
  try {
    return await use(`/proc/self/fd/${folder}/${basename(path)}`)
  } finally {
    closeSync(folder)
  }
}

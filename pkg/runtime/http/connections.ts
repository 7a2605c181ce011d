/**
 * The connections of a listener: how long each may be silent, and how many there may be. Bun keeps none of the timeouts
 * of `node:http` on connections that are handed to it, so they are kept here, for HTTP/1.1 and HTTP/2 alike.
 *
 * A connection is in one of three states: in use (a request is in progress), idle and owned (a user has been
 * authenticated on it), or a stranger (no user has been authenticated yet: it may be in its handshake, or in the middle
 * of the head of its first request). A connection in use is never closed here.
 */
import type { ServerHttp2Session } from "node:http2"
import type { TLSSocket } from "node:tls"
import { FairShare } from "../../flow/fair-share.ts"
import type { ServerAnswer } from "./server-request.ts"
import { openFilesLimit } from "../open-files.ts"
import type { PeerCertificate } from "./peer-certificate.ts"

/** Times in milliseconds. */
export interface ConnectionLimits {
  /**
   * For the TLS handshake, and after it for the head of the first request of a stranger. Source: kube-apiserver's
   * ReadHeaderTimeout.
   */
  readonly headMs: number
  /** From the end of one request to the head of the next. Source: kube-apiserver's IdleTimeout. */
  readonly idleMs: number
  /** For a client to read a response that is complete. */
  readonly unreadMs: number
  /**
   * For a client to read a response that was sent before the end of a large request body, after which the connection is
   * closed. Source: Go's net/http rstAvoidanceDelay.
   */
  readonly lingerMs: number
  /** The number of open connections. */
  readonly most: number
}

/**
 * Returns the default limits. A quarter of the files that may be open is left for the store, logs and connections to
 * containers.
 */
export const defaultLimits = (): ConnectionLimits => ({
  headMs: 32_000,
  idleMs: 90_000,
  unreadMs: 60_000,
  lingerMs: 500,
  most: Math.floor(0.75 * openFilesLimit()),
})

/**
 * The number of strangers, whatever the limit of connections: each takes about 10 KB, and more during its handshake.
 */
const MOST_STRANGERS = 4096

/** The shortest time between two checks of all connections, in milliseconds. */
const SWEEP_MS = 50

export class Connection {
  readonly socket: TLSSocket
  session: ServerHttp2Session | undefined
  /** The user who was authenticated first on this connection. */
  owner: string | undefined
  /** Whether the connection counts in its owner's share of all connections. */
  isShared = false
  /** The client's certificate; null when it has none that is valid, undefined before it was first read. */
  peer: PeerCertificate | null | undefined
  /** Since when no request has been in progress, by `performance.now()`. */
  idleSince = performance.now()
  /** When the connection is closed by force, because `end` was called on it; Infinity before. */
  closeAt = Infinity
  /**
   * Responses in progress, each with the time at which it was first seen complete but not read by the client; 0 before.
   */
  readonly answers = new Map<ServerAnswer, number>()
  /** Whether the TLS handshake is complete. */
  isSecure = false
  /** Whether the connection has left HTTP, for instance for a WebSocket. */
  upgraded = false
  readonly #all: Connections
  constructor(socket: TLSSocket, all: Connections) {
    this.socket = socket
    this.#all = all
  }

  /**
   * Records who was authenticated on the connection. Returns false when that user has used up its share of all
   * connections; a user that is `isExempt` has no share.
   */
  claim(owner: string, isExempt: boolean): boolean {
    return this.owner !== undefined || this.#all.own(this, owner, isExempt)
  }

  get inUse(): boolean {
    return this.upgraded || this.answers.size > 0
  }

  /** Ends the connection gracefully, over HTTP/2 with GOAWAY; at once while its TLS handshake is not complete. */
  end(): void {
    if (!this.isSecure) this.cut()
    else if (this.session === undefined) this.socket.end()
    else this.session.close()
  }

  /** Closes the connection at once. */
  cut(): void {
    this.session?.destroy()
    this.socket.destroy()
  }
}

/** Whether a response has told its client that the connection closes. */
const isLastOf = (answer: ServerAnswer): boolean => "shouldKeepAlive" in answer && !answer.shouldKeepAlive

const bySocket = new WeakMap<object, Connection>()

export class Connections {
  readonly #limits: ConnectionLimits
  readonly #mostStrangers: number
  readonly #owned: FairShare
  /** Open connections, in the order in which they arrived. */
  readonly #open = new Set<Connection>()
  #strangers = 0
  #timer: { readonly due: number; readonly handle: NodeJS.Timeout } | undefined
  /** "yes": connections end after their last request. "lingering": after a response that has told its client so. */
  #stopping: "no" | "lingering" | "yes" = "no"

  constructor(limits: ConnectionLimits) {
    this.#limits = limits
    this.#mostStrangers = Math.min(MOST_STRANGERS, Math.ceil(limits.most / 2))
    this.#owned = new FairShare(limits.most)
  }

  /**
   * Returns the connection of a socket, and counts it from its first byte on. When there are too many connections,
   * closes another one, or this one when all others are in use.
   */
  of(socket: TLSSocket): Connection {
    const known = bySocket.get(socket)
    if (known !== undefined) return known
    const connection = new Connection(socket, this)
    bySocket.set(socket, connection)
    this.#open.add(connection)
    this.#strangers++
    socket.once("close", () => this.#closed(connection))
    if (this.#strangers > this.#mostStrangers) this.#cut(this.#oldestStranger() ?? connection)
    else if (this.#open.size > this.#limits.most) this.#cut(this.#leastNeeded(connection))
    this.#checkAt(connection.idleSince + this.#limits.headMs)
    return connection
  }

  /** Makes a connection findable by its HTTP/2 session. */
  setSession(connection: Connection, session: ServerHttp2Session): void {
    connection.session = session
    bySocket.set(session, connection)
  }

  /** Implements `Connection.claim`. */
  own(connection: Connection, owner: string, isExempt: boolean): boolean {
    if (!this.#open.has(connection)) return true
    while (!isExempt && !this.#owned.take(owner)) {
      const idle = this.#idleOfGreedier(owner)
      if (idle === undefined) return false
      this.#cut(idle)
    }
    connection.owner = owner
    connection.isShared = !isExempt
    this.#strangers--
    return true
  }

  /** Records that a request has begun, whose response is `answer`. */
  began(connection: Connection, answer: ServerAnswer): void {
    connection.answers.set(answer, 0)
  }

  /**
   * Records that the client has read the response, or that the response was abandoned. `isLate`: a large part of the
   * request's body has not arrived yet.
   */
  ended(connection: Connection, answer: ServerAnswer, isLate: boolean): void {
    connection.answers.delete(answer)
    if (connection.inUse) return
    connection.idleSince = performance.now()
    if (connection.session === undefined && this.#endsWith(answer)) connection.end()
    else if (isLate) this.#closeSoon(connection)
    else this.#checkAt(connection.idleSince + this.#patienceWith(connection))
  }

  /**
   * Ends connections that are not in use now, and the others after their last request. With `isLingering` idle
   * connections of HTTP/1.1 stay open, until `stop` is called again.
   */
  stop(isLingering: boolean): void {
    this.#stopping = isLingering ? "lingering" : "yes"
    for (const connection of this.#open) {
      if (connection.session !== undefined) connection.session.close()
      else if (!connection.inUse && !isLingering) connection.end()
    }
  }

  /** Returns whether a connection of HTTP/1.1 ends after this response. */
  #endsWith(answer: ServerAnswer): boolean {
    return this.#stopping === "yes" || (this.#stopping === "lingering" && isLastOf(answer))
  }

  cutAll(): void {
    for (const connection of this.#open) connection.cut()
  }

  /** Closes the connections whose client certificate satisfies `isOut`, with the requests in progress on them. */
  cutPeers(isOut: (peer: PeerCertificate) => boolean): void {
    for (const connection of [...this.#open])
      if (connection.peer !== undefined && connection.peer !== null && isOut(connection.peer)) this.#cut(connection)
  }

  #closed(connection: Connection): void {
    if (!this.#open.delete(connection)) return
    if (connection.owner === undefined) this.#strangers--
    else if (connection.isShared) this.#owned.giveBack(connection.owner)
    if (this.#open.size > 0) return
    clearTimeout(this.#timer?.handle)
    this.#timer = undefined
  }

  /**
   * Closes the connection after `lingerMs`. What the client still sends is not read, because it could be any amount.
   * The wait lets the client read its response, which a reset would discard.
   */
  #closeSoon(connection: Connection): void {
    connection.socket.pause()
    connection.closeAt = connection.idleSince + this.#limits.lingerMs
    this.#checkAt(connection.closeAt)
  }

  #patienceWith = ({ owner }: Connection): number => (owner === undefined ? this.#limits.headMs : this.#limits.idleMs)

  /**
   * Closes the connection and forgets it at once. Does not wait for the socket's event: many connections can arrive
   * before that.
   */
  #cut(connection: Connection): void {
    connection.cut()
    this.#closed(connection)
  }

  #oldestStranger(): Connection | undefined {
    for (const connection of this.#open) if (connection.owner === undefined && !connection.inUse) return connection
    return undefined
  }

  /**
   * Returns the connection to close first: a stranger, else the owned connection that has been idle longest, else
   * `newest` when all others are in use.
   */
  #leastNeeded(newest: Connection): Connection {
    const stranger = this.#oldestStranger()
    if (stranger !== undefined && stranger !== newest) return stranger
    let least = newest
    for (const one of this.#open)
      if (!one.inUse && one !== newest && (least === newest || one.idleSince < least.idleSince)) least = one
    return least
  }

  /** Returns an idle connection of the user who holds most connections, if that user holds more than `owner`. */
  #idleOfGreedier(owner: string): Connection | undefined {
    let [found, most]: [Connection | undefined, number] = [undefined, this.#owned.held(owner)]
    for (const one of this.#open) {
      const held = one.inUse || !one.isShared || one.owner === undefined ? 0 : this.#owned.held(one.owner)
      if (held > most) [found, most] = [one, held]
    }
    return found
  }

  /** Schedules a check of all connections for the time `due`, unless one comes earlier. */
  #checkAt(due: number): void {
    if (this.#timer !== undefined) {
      if (this.#timer.due <= due) return
      clearTimeout(this.#timer.handle)
    }
    const handle = setTimeout(() => this.#sweep(), Math.max(SWEEP_MS, due - performance.now()))
    handle.unref()
    this.#timer = { due, handle }
  }

  #sweep(): void {
    this.#timer = undefined
    const now = performance.now()
    let next = Infinity
    for (const connection of this.#open) {
      const due = connection.inUse ? this.#unreadUntil(connection, now) : this.#idleUntil(connection)
      next = Math.min(next, due > now ? due : this.#close(connection, now))
    }
    if (next < Infinity) this.#checkAt(next)
  }

  /** Ends a connection gracefully, or by force when that has not helped. Returns the time of the next check of it. */
  #close(connection: Connection, now: number): number {
    if (connection.inUse || connection.closeAt <= now) {
      this.#cut(connection)
      return Infinity
    }
    connection.end()
    return (connection.closeAt = now + this.#limits.lingerMs)
  }

  #idleUntil(connection: Connection): number {
    return connection.closeAt < Infinity ? connection.closeAt : connection.idleSince + this.#patienceWith(connection)
  }

  /**
   * Returns until when the client has to read its responses, which are in our memory until then. Endless responses,
   * such as watches, are excepted: their writers limit what they keep in memory.
   */
  #unreadUntil(connection: Connection, now: number): number {
    const { answers, upgraded, socket } = connection
    let until = now + this.#limits.unreadMs
    if (upgraded && socket.writableEnded) until = connection.closeAt = Math.min(connection.closeAt, until)
    for (const [answer, seen] of answers) {
      if (answer.writableEnded && seen === 0) answers.set(answer, now)
      else if (seen > 0) until = Math.min(until, seen + this.#limits.unreadMs)
    }
    return until
  }
}

/**
 * Returns the connection that a socket or an HTTP/2 session belongs to; undefined for one that no listener of ours
 * accepted.
 */
export const connectionOf = (socket: object): Connection | undefined => bySocket.get(socket)

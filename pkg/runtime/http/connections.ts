/**
 * The connections of a listener: how long each may be silent, and how many there may be. Bun keeps none of the timeouts
 * of `node:http` on connections that are handed to it, so they are kept here, for HTTP/1.1 and HTTP/2 alike.
 *
 * A connection is one of three: in use (a request is under way), idle and owned (somebody has been authenticated on
 * it), or a stranger (nobody has yet: it may be in its handshake, or in the middle of the head of its first request). A
 * connection in use is never closed here.
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
   * For the TLS handshake, and after it for the head of the first request of somebody who is known. Source:
   * kube-apiserver's ReadHeaderTimeout.
   */
  readonly headMs: number
  /** From the end of one request to the head of the next. Source: kube-apiserver's IdleTimeout. */
  readonly idleMs: number
  /** For a client to read an answer that is complete. */
  readonly unreadMs: number
  /**
   * For a client to read an answer that came before the end of a large body, after which the connection is closed.
   * Source: Go's net/http rstAvoidanceDelay.
   */
  readonly lingerMs: number
  /** Connections at once. */
  readonly most: number
}

/** Of the files that may be open a quarter is left for everything else: the store, logs, connections to containers. */
export const defaultLimits = (): ConnectionLimits => ({
  headMs: 32_000,
  idleMs: 90_000,
  unreadMs: 60_000,
  lingerMs: 500,
  most: Math.floor(0.75 * openFilesLimit()),
})

/** Strangers at once, whatever the number of connections: each costs about 10 KB, in its handshake more. */
const MOST_STRANGERS = 4096

/** The shortest wait between two looks at all connections. */
const SWEEP_MS = 50

export class Connection {
  readonly socket: TLSSocket
  session: ServerHttp2Session | undefined
  /** Who was authenticated on it first. */
  owner: string | undefined
  /** It counts in its owner's share of all connections. */
  isShared = false
  /** What the client's certificate says; null when there is none that counts, undefined before anybody has asked. */
  peer: PeerCertificate | null | undefined
  /** Since when no request has been under way, by `performance.now()`. */
  idleSince = performance.now()
  /** When it is to be cut, because it has been ended; Infinity before. */
  closeAt = Infinity
  /** Answers under way, with the time at which they were first seen complete but not taken by the client; 0 before. */
  readonly answers = new Map<ServerAnswer, number>()
  /** Its TLS handshake is over. */
  isSecure = false
  /** It has left HTTP, for instance for a WebSocket. */
  upgraded = false
  readonly #all: Connections
  constructor(socket: TLSSocket, all: Connections) {
    this.socket = socket
    this.#all = all
  }

  /**
   * Notes who has been authenticated on it. False when that user has its share of all connections already; a user that
   * is `isExempt` has no share.
   */
  claim(owner: string, isExempt: boolean): boolean {
    return this.owner !== undefined || this.#all.own(this, owner, isExempt)
  }

  get inUse(): boolean {
    return this.upgraded || this.answers.size > 0
  }

  /** Ends it in order, over HTTP/2 with GOAWAY; at once where there is no order yet. */
  end(): void {
    if (!this.isSecure) this.cut()
    else if (this.session === undefined) this.socket.end()
    else this.session.close()
  }

  /** Ends it at once. */
  cut(): void {
    this.session?.destroy()
    this.socket.destroy()
  }
}

/** Whether an answer has told its client that the connection closes. */
const isLastOf = (answer: ServerAnswer): boolean => "shouldKeepAlive" in answer && !answer.shouldKeepAlive

const bySocket = new WeakMap<object, Connection>()

export class Connections {
  readonly #limits: ConnectionLimits
  readonly #mostStrangers: number
  readonly #owned: FairShare
  /** In the order in which they came. */
  readonly #open = new Set<Connection>()
  #strangers = 0
  #timer: { readonly due: number; readonly handle: NodeJS.Timeout } | undefined
  /** Connections end with their last request; "lingering": with one whose answer has said so. */
  #stopping: "no" | "lingering" | "yes" = "no"

  constructor(limits: ConnectionLimits) {
    this.#limits = limits
    this.#mostStrangers = Math.min(MOST_STRANGERS, Math.ceil(limits.most / 2))
    this.#owned = new FairShare(limits.most)
  }

  /**
   * The connection of a socket, from its first byte on. Closes another one where there are too many, or this one where
   * all others are in use.
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
    this.#lookAt(connection.idleSince + this.#limits.headMs)
    return connection
  }

  /** Lets a connection be found by its HTTP/2 session. */
  setSession(connection: Connection, session: ServerHttp2Session): void {
    connection.session = session
    bySocket.set(session, connection)
  }

  /** See `Connection.claim`, which calls this. */
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

  /** A request has come whose answer is `answer`. */
  began(connection: Connection, answer: ServerAnswer): void {
    connection.answers.set(answer, 0)
  }

  /**
   * The answer has been taken by the client, or given up. `isLate`: a large part of the request's body has not come
   * yet.
   */
  ended(connection: Connection, answer: ServerAnswer, isLate: boolean): void {
    connection.answers.delete(answer)
    if (connection.inUse) return
    connection.idleSince = performance.now()
    if (connection.session === undefined && this.#endsWith(answer)) connection.end()
    else if (isLate) this.#closeSoon(connection)
    else this.#lookAt(connection.idleSince + this.#patienceWith(connection))
  }

  /**
   * Ends connections that are not in use, and the others with their last request. With `isLingering` idle connections
   * of HTTP/1.1 stay open, until `stop` is called again.
   */
  stop(isLingering: boolean): void {
    this.#stopping = isLingering ? "lingering" : "yes"
    for (const connection of this.#open) {
      if (connection.session !== undefined) connection.session.close()
      else if (!connection.inUse && !isLingering) connection.end()
    }
  }

  /** Whether a connection of HTTP/1.1 ends after this answer. */
  #endsWith(answer: ServerAnswer): boolean {
    return this.#stopping === "yes" || (this.#stopping === "lingering" && isLastOf(answer))
  }

  cutAll(): void {
    for (const connection of this.#open) connection.cut()
  }

  /** Ends the connections of the client certificates that `isOut` names, with what is under way on them. */
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
   * What the client still sends is not read: it could be any amount. It gets the time to read its answer, which a reset
   * would take from it.
   */
  #closeSoon(connection: Connection): void {
    connection.socket.pause()
    connection.closeAt = connection.idleSince + this.#limits.lingerMs
    this.#lookAt(connection.closeAt)
  }

  #patienceWith = ({ owner }: Connection): number => (owner === undefined ? this.#limits.headMs : this.#limits.idleMs)

  /** Not waiting for the socket to say that it is closed: many connections can come before it does. */
  #cut(connection: Connection): void {
    connection.cut()
    this.#closed(connection)
  }

  #oldestStranger(): Connection | undefined {
    for (const connection of this.#open) if (connection.owner === undefined && !connection.inUse) return connection
    return undefined
  }

  /**
   * A stranger goes before a connection of somebody known, of these the one that has been idle longest; `newest` where
   * all others are in use.
   */
  #leastNeeded(newest: Connection): Connection {
    const stranger = this.#oldestStranger()
    if (stranger !== undefined && stranger !== newest) return stranger
    let least = newest
    for (const one of this.#open)
      if (!one.inUse && one !== newest && (least === newest || one.idleSince < least.idleSince)) least = one
    return least
  }

  /** An idle connection of the user who holds most, if that is more than `owner` does. */
  #idleOfGreedier(owner: string): Connection | undefined {
    let [found, most]: [Connection | undefined, number] = [undefined, this.#owned.held(owner)]
    for (const one of this.#open) {
      const held = one.inUse || !one.isShared || one.owner === undefined ? 0 : this.#owned.held(one.owner)
      if (held > most) [found, most] = [one, held]
    }
    return found
  }

  /** Has all connections looked at when the first of them is due, and not before. */
  #lookAt(due: number): void {
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
    if (next < Infinity) this.#lookAt(next)
  }

  /**
   * Ends a connection in order and, where that has not helped, at once. Gives the time at which to look at it again.
   */
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
   * A client that does not read leaves its answers in our memory. Those that go on by design, as watches do, look after
   * that themselves.
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
 * The connection that a socket or an HTTP/2 session belongs to. Undefined for one that no listener of ours has
 * accepted.
 */
export const connectionOf = (socket: object): Connection | undefined => bySocket.get(socket)

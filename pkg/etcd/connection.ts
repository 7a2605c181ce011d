import { Client, credentials, Metadata, type ChannelOptions } from "@grpc/grpc-js"
import { Buffer } from "node:buffer"
import { isIP } from "node:net"
import { checkServerIdentity, createSecureContext, type PeerCertificate } from "node:tls"
import { sleep, type Clock } from "../clock/clock.ts"
import { GRPC_CODES, type GrpcCode } from "../grpc/codes.ts"
import { trusting } from "../pki/trust.ts"
import type { Rpc } from "../grpc/rpc.ts"
import type { Decoded, Fields, Init } from "../protobuf/message.ts"
import { RPC, type WatchAnswer } from "./messages.ts"

/** The authority of etcd's certificates and this client's own certificate and key, as PEM. */
export interface EtcdTls {
  readonly caPem?: string | undefined
  readonly certPem?: string | undefined
  readonly keyPem?: string | undefined
}

export interface EtcdOptions {
  /** `http://host:port` or `https://host:port`, one for each member. */
  readonly endpoints: readonly string[]
  readonly tls?: EtcdTls | undefined
  readonly clock: Clock
  /**
   * Returns what the administrator can do about an error, as a sentence without its full stop; undefined when unknown.
   */
  readonly explain?: ((message: string) => string | undefined) | undefined
}

/** A failed call to etcd. `message` is etcd's own if etcd has answered. */
export class EtcdError extends Error {
  override readonly name = "EtcdError"
  constructor(
    readonly code: GrpcCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }

  static from(err: unknown): EtcdError {
    if (err instanceof EtcdError) return err
    if (!(err instanceof Error)) return new EtcdError("Unknown", String(err))
    const number = "code" in err && typeof err.code === "number" ? err.code : -1
    const details = "details" in err && typeof err.details === "string" ? err.details : ""
    const message = (details === "" ? err.message : details).replace(/\.? Resolution note: $/, "")
    return new EtcdError(GRPC_CODES[number] ?? "Unknown", message, { cause: err })
  }
}

const CHANNEL: ChannelOptions = {
  "grpc.max_receive_message_length": -1,
  "grpc.initial_reconnect_backoff_ms": 50,
  "grpc.min_reconnect_backoff_ms": 50,
  "grpc.max_reconnect_backoff_ms": 1000,
  "grpc.enable_http_proxy": 0,
  "grpc.use_local_subchannel_pool": 1,
  // Keep-alive pings on the watch, which is always open, detect a member that no longer answers.
  "grpc.keepalive_time_ms": 5000,
  "grpc.keepalive_timeout_ms": 3000,
}

/**
 * Connections to the members of an etcd cluster. Calls go to one member until it fails, then to the next one. Source of
 * the behaviour: etcd client/v3.
 */
export class EtcdConnection {
  readonly #clients: readonly Client[]
  readonly #clock: Clock
  readonly #explain: EtcdOptions["explain"]
  #at = 0
  #closed = false

  constructor({ endpoints, tls = {}, clock, explain }: EtcdOptions) {
    this.#clock = clock
    this.#explain = explain
    this.#clients = endpoints.map((endpoint) => clientOf(new URL(endpoint), tls))
  }

  /** The number of members that this client knows. */
  get members(): number {
    return this.#clients.length
  }

  /**
   * Calls one member. A member that has no leader has done nothing, so the next one is called a moment later: when a
   * leader stops in order, another is elected within milliseconds.
   * @throws EtcdError
   */
  async call<Req extends Fields, Res extends Fields>(
    rpc: Rpc<Req, Res>,
    request: Init<Req>,
    timeoutMs: number,
  ): Promise<Decoded<Res>> {
    const until = this.#clock.monotonic() + Math.min(timeoutMs, LEADERLESS_MS)
    for (;;) {
      try {
        return await this.#callOnce(rpc, request, timeoutMs)
      } catch (err) {
        const isLeaderless = err instanceof EtcdError && NO_LEADER.test(err.message)
        if (!isLeaderless || this.#closed || this.#clock.monotonic() >= until) throw err
      }
      await sleep(this.#clock, LEADERLESS_PAUSE_MS)
    }
  }

  #callOnce<Req extends Fields, Res extends Fields>(
    rpc: Rpc<Req, Res>,
    request: Init<Req>,
    timeoutMs: number,
  ): Promise<Decoded<Res>> {
    const at = this.#at
    if (this.#closed) return Promise.reject(new EtcdError("Unavailable", "the connection to etcd has been closed"))
    return new Promise((resolve, reject) => {
      this.#clients[at]!.makeUnaryRequest(
        rpc.path,
        (value: typeof request) => asBuffer(rpc.request.encode(value)),
        (data) => rpc.response.decode(data),
        request,
        NEEDS_LEADER,
        { deadline: this.#clock.now() + timeoutMs },
        (err, response) => {
          if (err === null && response !== undefined) return resolve(response)
          const error = this.#explained(err ?? new Error("the call ended without an answer"))
          if (error.code === "Unavailable" || error.code === "DeadlineExceeded") this.#leave(at)
          reject(error)
        },
      )
    })
  }

  /**
   * Calls one member after another until one answers. Only for calls that change nothing. A call that a change of the
   * leader has interrupted is sent again, since there is a new leader then.
   * @throws EtcdError
   */
  async ask<Req extends Fields, Res extends Fields>(
    rpc: Rpc<Req, Res>,
    request: Init<Req>,
    timeoutMs: number,
  ): Promise<Decoded<Res>> {
    let changes = 0
    for (let tries = 1; ; tries++) {
      try {
        return await this.call(rpc, request, timeoutMs)
      } catch (err) {
        if (err instanceof EtcdError && LEADER_CHANGED.test(err.message) && changes++ < MOST_CHANGES) {
          tries--
          continue
        }
        const isElsewhere = err instanceof EtcdError && MAY_WORK_ELSEWHERE.has(err.code)
        if (!isElsewhere || tries >= this.#clients.length || this.#closed) throw err
      }
    }
  }

  /**
   * Watches the changes of a range from a revision on, at one member. `ended` is called once when the watch ends,
   * except by `close`.
   */
  watch(
    range: { readonly key: Uint8Array; readonly rangeEnd: Uint8Array; readonly startRevision: number },
    observer: { readonly answered: (answer: WatchAnswer) => void; readonly ended: (reason: EtcdError) => void },
  ): { close(): void } {
    const at = this.#at
    const stream = this.#clients[at]!.makeBidiStreamRequest(
      RPC.watch.path,
      (value: Parameters<typeof RPC.watch.request.encode>[0]) => asBuffer(RPC.watch.request.encode(value)),
      (data) => RPC.watch.response.decode(data),
      NEEDS_LEADER,
    )
    let isOver = false
    const end = (err: unknown) => {
      if (isOver) return
      isOver = true
      this.#leave(at)
      observer.ended(this.#explained(err))
    }
    stream.on("data", (answer: WatchAnswer) => isOver || observer.answered(answer))
    stream.on("error", end)
    stream.on("end", () => end(new EtcdError("Unavailable", "etcd has ended the watch")))
    stream.write({ create: { ...range, fragment: true } })
    return {
      close() {
        isOver = true
        stream.cancel()
      },
    }
  }

  close(): void {
    this.#closed = true
    for (const client of this.#clients) client.close()
  }

  #explained(err: unknown): EtcdError {
    const error = EtcdError.from(err)
    const mend = this.#explain?.(error.message)
    return mend === undefined ? error : new EtcdError(error.code, `${error.message}: ${mend}`, { cause: error })
  }

  /** Sends the next calls to the member after this one. */
  #leave(at: number): void {
    if (this.#at === at) this.#at = (at + 1) % this.#clients.length
  }
}

/** Source of the words: etcd api/v3rpc/rpctypes/error.go ErrGRPCNoLeader, ErrGRPCLeaderChanged. */
const NO_LEADER = /etcdserver: no leader/
const LEADER_CHANGED = /etcdserver: leader changed/
/** How long a call waits for a leader, and the delay between two attempts, in milliseconds. */
const LEADERLESS_MS = 2000
const LEADERLESS_PAUSE_MS = 25
/** How many changes of the leader may interrupt one call before it fails. */
const MOST_CHANGES = 5

const MAY_WORK_ELSEWHERE: ReadonlySet<GrpcCode> = new Set<GrpcCode>(["Unavailable", "DeadlineExceeded"])

/** Metadata with which a member that has lost its leader fails calls and ends watches instead of letting them wait. */
const NEEDS_LEADER = new Metadata()
NEEDS_LEADER.set("hasleader", "true")

function clientOf({ protocol, host, hostname }: URL, { caPem, certPem, keyPem }: EtcdTls): Client {
  if (protocol === "http:") return new Client(host, credentials.createInsecure(), CHANNEL)
  const address = hostname.replace(/^\[|\]$/g, "")
  const context = createSecureContext({ ...trusting(caPem), cert: certPem, key: keyPem })
  if (isIP(address) === 0) return new Client(host, credentials.createFromSecureContext(context), CHANNEL)
  // grpc-js sends the host as the server name, which TLS does not allow for an IP address. So another name is sent, and
  // the certificate is checked against the IP address here.
  const verify = {
    checkServerIdentity: (_: string, certificate: PeerCertificate) => checkServerIdentity(address, certificate),
  }
  const secured = credentials.createFromSecureContext(context, verify)
  return new Client(host, secured, { ...CHANNEL, "grpc.ssl_target_name_override": "etcd" })
}

const asBuffer = (data: Uint8Array) => Buffer.from(data.buffer, data.byteOffset, data.byteLength)

import { Client, Metadata, connectivityState, credentials } from "@grpc/grpc-js"
import { Buffer } from "node:buffer"
import type { Clock } from "../clock/clock.ts"
import type { Fields, Init, Decoded } from "../protobuf/message.ts"
import { CriError } from "./errors.ts"
import type { Rpc } from "../grpc/rpc.ts"

export interface CallOptions {
  /**
   * How long the call may take, in milliseconds; Infinity for no limit. Default: two minutes, the kubelet's
   * runtimeRequestTimeout.
   */
  timeoutMs?: number
  /** Cancels the call. The runtime is told, and stops what it can. */
  signal?: AbortSignal | undefined
}

/**
 * One gRPC connection. It reconnects by itself after the server was killed; calls made meanwhile fail with
 * `Unavailable`.
 */
export interface Channel {
  /** @throws CriError */
  call<Req extends Fields, Res extends Fields>(
    rpc: Rpc<Req, Res>,
    request: Init<Req>,
    options?: CallOptions,
  ): Promise<Decoded<Res>>
  /**
   * Returns the messages of a server's stream until the stream ends, `signal` aborts (no error) or the connection
   * breaks.
   * @throws CriError
   */
  stream<Req extends Fields, Res extends Fields>(
    rpc: Rpc<Req, Res>,
    request: Init<Req>,
    options?: StreamOptions,
  ): AsyncGenerator<Decoded<Res>, void>
  /**
   * Connects now, and again whenever the connection breaks. Calls `changed` at once and after each change, until the
   * channel is closed.
   */
  followConnection(changed: (connected: boolean) => void): void
  close(): void
}

export interface StreamOptions {
  signal?: AbortSignal | undefined
  /** Called when the request has been handed to the connection. */
  onSent?: () => void
}

const DEFAULT_TIMEOUT_MS = 120_000

export interface ChannelOptions {
  /** Returns the `traceparent` of a call, with which the server can continue its trace; undefined for none. */
  readonly traceparent?: (() => string | undefined) | undefined
  /** Sent with every call. */
  readonly metadata?: Readonly<Record<string, string>>
  /** The first and the longest pause before the channel connects again, in milliseconds. */
  readonly reconnectMs?: { readonly first: number; readonly longest: number }
}

/**
 * A containerd that was killed is back within a fraction of a second; gRPC's own pauses of 1 s to 120 s would delay
 * every pod.
 */
const SOON = { first: 50, longest: 250 }

/** @param socketPath of the server: absolute, without `unix://` */
export function openChannel(socketPath: string, clock: Clock, options: ChannelOptions = {}): Channel {
  const { metadata = {}, reconnectMs = SOON } = options
  const client = new Client(`unix://${socketPath}`, credentials.createInsecure(), {
    // The kubelet's limit for responses (maxMsgSize in cri-client): a list of all containers may exceed grpc's own 4
    // MiB.
    "grpc.max_receive_message_length": 16 * 1024 * 1024,
    "grpc.initial_reconnect_backoff_ms": reconnectMs.first,
    "grpc.min_reconnect_backoff_ms": reconnectMs.first,
    "grpc.max_reconnect_backoff_ms": reconnectMs.longest,
    "grpc.enable_http_proxy": 0,
    // Each client gets its own connection: closing one must not close another to the same socket.
    "grpc.use_local_subchannel_pool": 1,
  })
  const headers = new Metadata()
  for (const [key, value] of Object.entries(metadata)) headers.set(key, value)
  let closed = false
  const headersOfCall = (): Metadata => {
    const traceparent = options.traceparent?.()
    if (traceparent === undefined) return headers
    const own = headers.clone()
    own.set("traceparent", traceparent)
    return own
  }

  return {
    call(rpc, request, options = {}) {
      const timeout = options.timeoutMs ?? DEFAULT_TIMEOUT_MS
      const { signal } = options
      const method = methodName(rpc.path)
      return new Promise((resolve, reject) => {
        if (signal?.aborted)
          return reject(new CriError("Cancelled", method, `${method} was cancelled`, { cause: signal.reason }))
        const call = client.makeUnaryRequest(
          rpc.path,
          (value: typeof request) => asBuffer(rpc.request.encode(value)),
          (data) => rpc.response.decode(data),
          request,
          headersOfCall(),
          { deadline: timeout === Infinity ? Infinity : clock.now() + timeout },
          (err, response) => {
            signal?.removeEventListener("abort", onAbort)
            if (err) reject(CriError.from(method, err))
            else if (response === undefined)
              reject(new CriError("Internal", method, `${method} ended without an answer`))
            else resolve(response)
          },
        )
        const onAbort = () => call.cancel()
        signal?.addEventListener("abort", onAbort, { once: true })
      })
    },

    async *stream(rpc, request, options = {}) {
      const { signal } = options
      if (signal?.aborted) return
      const call = client.makeServerStreamRequest(
        rpc.path,
        (value: typeof request) => asBuffer(rpc.request.encode(value)),
        (data) => rpc.response.decode(data),
        request,
        headers,
        { deadline: Infinity },
      )
      const onAbort = () => call.cancel()
      signal?.addEventListener("abort", onAbort, { once: true })
      try {
        options.onSent?.()
        for await (const item of call) yield item as Awaited<ReturnType<typeof rpc.response.decode>>
      } catch (err) {
        if (!signal?.aborted) throw CriError.from(methodName(rpc.path), err)
      } finally {
        signal?.removeEventListener("abort", onAbort)
        call.cancel()
      }
    },

    followConnection(changed) {
      const connection = client.getChannel()
      const check = () => {
        if (closed) return
        const state = connection.getConnectivityState(true)
        changed(state === connectivityState.READY)
        connection.watchConnectivityState(state, Infinity, check)
      }
      check()
    },

    close() {
      closed = true
      client.close()
    },
  }
}

const methodName = (path: string) => path.slice(path.lastIndexOf("/") + 1)

const asBuffer = (data: Uint8Array) => Buffer.from(data.buffer, data.byteOffset, data.byteLength)

import type { Field } from "../../../../ingress/messages/head.ts"
import { fieldOf } from "../../../../ingress/messages/fields.ts"
import type { Exchange } from "../../../../ingress/proxy/exchange.ts"
import type { Answer, Downstream, IncomingRequest } from "../../../../ingress/messages/messages.ts"
import { ConnectionError } from "../../../../kubelet/runtime/simulated/machine/connection-error.ts"
import { ReceiveBuffer } from "../../../../kubelet/runtime/simulated/machine/receive-buffer.ts"

/** Where a request comes to the proxy. */
export interface Entry {
  readonly node: string
  /** The address of the node that the client uses. */
  readonly address: string
  readonly port: number
  readonly isSecure: boolean
  /** The address of the client. */
  readonly client: string
}

/** The client's side of an exchange of the ingress proxy: a request and its Response in memory. */
export class ClientSide implements Downstream {
  readonly #body: Buffer
  readonly #socket = new ReceiveBuffer()
  readonly #answer = Promise.withResolvers<Response>()
  readonly #isHead: boolean
  #exchange: Exchange | undefined
  #isSent = false

  constructor(request: Request, body: Buffer) {
    this.#body = body
    this.#isHead = request.method === "HEAD"
  }

  /** Begins the exchange. Rejects with `signal`. */
  async answered(exchange: Exchange, signal: AbortSignal | undefined): Promise<Response> {
    this.#exchange = exchange
    const leave = (): void => {
      exchange.clientGone()
      this.#fail(signal?.reason)
    }
    signal?.addEventListener("abort", leave, { once: true })
    exchange.start()
    return this.#answer.promise
  }

  receive(wanted: boolean): void {
    if (!wanted || this.#isSent || this.#body.length === 0) return
    this.#isSent = true
    this.#exchange!.data(this.#body)
    this.#exchange!.bodyEnd([])
  }

  respond({ status, reason, fields }: Answer): void {
    const headers = new Headers()
    for (const { name, value } of fields) headers.append(name, value)
    const isBodiless = this.#isHead || status === 204 || status === 304
    const body = isBodiless ? null : this.#socket.stream(() => this.#exchange!.clientGone())
    this.#answer.resolve(new Response(body, { status, statusText: reason, headers }))
  }

  write(chunk: Buffer): void {
    this.#socket.add(new Uint8Array(chunk))
  }
  end(): void {
    this.#socket.end()
  }
  flush(): boolean {
    return true
  }
  abort(): void {
    this.#fail(new ConnectionError("ECONNRESET", "read tcp: read: connection reset by peer (by the ingress proxy)"))
  }

  #fail(why: unknown): void {
    this.#answer.reject(why)
    this.#socket.end(why)
  }
}

/** Returns a request as the proxy reads it. */
export function incoming(request: Request, body: Buffer, entry: Entry): IncomingRequest {
  const { pathname, search, host, hostname } = new URL(request.url)
  const authority = request.headers.get("host") ?? host
  const fields: Field[] = [...request.headers].map(([name, value]) => fieldOf(name, value))
  return {
    method: request.method,
    target: pathname + search,
    authority,
    host: authority.replace(/:\d*$/, "").toLowerCase(),
    fields,
    framing: body.length === 0 ? { kind: "none" } : { kind: "length", length: body.length },
    upgrade: undefined,
    version: "HTTP/1.1",
    origin: {
      client: entry.client,
      isSecure: entry.isSecure,
      port: entry.port,
      listener: entry.port,
      address: entry.address,
      serverName: entry.isSecure ? hostname : undefined,
    },
  }
}

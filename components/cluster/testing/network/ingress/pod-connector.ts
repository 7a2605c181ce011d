import { fieldOf } from "../../../../ingress/messages/fields.ts"
import { errorMessage } from "../../../../../pkg/errors/error-message.ts"
import type {
  Connector,
  Endpoint,
  OutgoingRequest,
  Upstream,
  UpstreamHandlers,
} from "../../../../ingress/messages/messages.ts"
import type { SimulatedNetwork } from "../../../../kubelet/runtime/simulated/machine/network.ts"

/** Longer than the proxy waits for anything, in milliseconds: its own deadlines decide. */
const DAY_MS = 86_400_000

/** Connects the ingress proxy of a node to pods. */
export const podConnector = (network: SimulatedNetwork, node: string): Connector => ({
  connect(endpoint, _protocol, _isFresh, connected) {
    const leaving = new AbortController()
    const { address: host, port } = endpoint
    network.dial({ host, port, timeoutMs: DAY_MS, from: node, signal: leaving.signal }).then(
      () => {
        if (!leaving.signal.aborted) connected(new PodSide(network, node, endpoint))
      },
      (err: Error) => {
        if (!leaving.signal.aborted) connected(err)
      },
    )
    return () => leaving.abort(new Error("the proxy has given up"))
  },
})

/** The pod's side of an exchange. */
class PodSide implements Upstream {
  readonly isReused = false
  readonly #network: SimulatedNetwork
  readonly #node: string
  readonly #endpoint: Endpoint
  readonly #leaving = new AbortController()
  readonly #body: Buffer[] = []
  #sent: { readonly request: OutgoingRequest; readonly handlers: UpstreamHandlers } | undefined

  constructor(network: SimulatedNetwork, node: string, endpoint: Endpoint) {
    this.#network = network
    this.#node = node
    this.#endpoint = endpoint
  }

  send(request: OutgoingRequest, handlers: UpstreamHandlers): void {
    this.#sent = { request, handlers }
  }
  flush(): void {}
  write(chunk: Buffer): boolean {
    this.#body.push(chunk)
    return true
  }
  end(): void {
    void this.#exchange()
  }
  receive(): void {}
  abort(): void {
    this.#leaving.abort(new Error("the proxy has left"))
  }

  async #exchange(): Promise<void> {
    const { request, handlers } = this.#sent!
    const { method, target, authority, fields } = request
    const { signal } = this.#leaving
    const { address: host, port } = this.#endpoint
    try {
      const headers = new Headers()
      for (const { name, value } of fields) headers.append(name, value)
      const body = this.#body.length === 0 ? {} : { body: new Uint8Array(Buffer.concat(this.#body)) }
      const asked = new Request(`http://${authority}${target}`, { method, headers, signal, ...body })
      const answer = await this.#network.fetch(asked, { host, port, timeoutMs: DAY_MS, from: this.#node, signal })
      handlers.head({
        status: answer.status,
        reason: answer.statusText,
        fields: [...answer.headers].map(([name, value]) => fieldOf(name, value)),
        framing: { kind: answer.body === null || method === "HEAD" ? "none" : "chunked" },
        keepAlive: false,
      })
      const reader = method === "HEAD" ? undefined : answer.body?.getReader()
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
        if (done || signal.aborted) break
        handlers.data(Buffer.from(value!))
        handlers.flush()
      }
      if (!signal.aborted) handlers.end([])
    } catch (err) {
      if (!signal.aborted) handlers.failed(errorMessage(err))
    }
  }
}

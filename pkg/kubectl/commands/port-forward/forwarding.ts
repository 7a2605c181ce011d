import { isIPv6 } from "node:net"
import type { Duplex } from "node:stream"
import { errorMessage } from "../../../errors/error-message.ts"
import {
  connectPortForward,
  connectPortForwardOverWebSocket,
  type PortForwardClient,
} from "../../../streaming/port-forward-client.ts"
import type { Listen, Listener } from "../../environment/listen.ts"
import type { Factory } from "../../factory/factory.ts"
import type { Output } from "../../printers/output.ts"
import { dialOptions, overWebSocketFirst, upgradeError } from "../../remote/remote-session.ts"
import type { ListenAddress } from "./addresses.ts"
import type { ForwardedPort } from "./ports.ts"

/** Source: client-go tools/portforward/portforward.go. */
export interface Forwarding {
  readonly factory: Factory
  readonly listen: Listen
  readonly out: Output
  readonly errOut: Output
  /** The path of the pod's subresource. */
  readonly path: string
  readonly addresses: readonly ListenAddress[]
  readonly ports: readonly ForwardedPort[]
}

/** Forwards until Ctrl-C. @throws Error when the connection to the pod is lost, or no port could be opened */
export async function forward(options: Forwarding): Promise<void> {
  const { factory, ports, errOut } = options
  let client: PortForwardClient
  try {
    const dial = await dialOptions(factory, options.path, {}, factory.environment.interrupt)
    client = await overWebSocketFirst(
      factory,
      "KUBECTL_PORT_FORWARD_WEBSOCKETS",
      () => connectPortForwardOverWebSocket(dial),
      () => connectPortForward(dial),
    )
  } catch (err) {
    throw new Error(`error upgrading connection: ${errorMessage(upgradeError(err))}`, { cause: err })
  }
  const listeners: Listener[] = []
  try {
    let isListening = false
    for (const port of ports)
      try {
        await listenOn(port, client, listeners, options)
        isListening = true
      } catch (err) {
        await errOut.write(`Unable to listen on port ${port.local}: ${errorMessage(err)}\n`)
      }
    if (!isListening) {
      const list = ports.map(({ local, remote }) => `{${local} ${remote}}`).join(" ")
      throw new Error(`unable to listen on any of the requested ports: [${list}]`)
    }
    const { interrupt } = factory.environment
    const stopped = new Promise<"stopped">((resolve) => {
      if (interrupt.aborted) resolve("stopped")
      interrupt.addEventListener("abort", () => resolve("stopped"), { once: true })
    })
    if ((await Promise.race([stopped, client.closed])) !== "stopped") throw new Error("lost connection to pod")
  } finally {
    for (const listener of listeners) listener.close()
    client.close()
  }
}

/** Opens a port on every address. Of the two addresses of `localhost` one is enough. */
async function listenOn(
  { local, remote }: ForwardedPort,
  client: PortForwardClient,
  listeners: Listener[],
  options: Forwarding,
): Promise<void> {
  let port = local
  const failed: { readonly isLocalhost: boolean; readonly message: string }[] = []
  let hasLocalhost = false
  for (const { address, isLocalhost } of options.addresses)
    try {
      const listener = await options.listen(address, port, (connection) => {
        void handle(connection, { local: port, remote }, client, options)
      })
      listeners.push(listener)
      port = listener.port
      if (isLocalhost) hasLocalhost = true
      const host = isIPv6(address) ? `[${address}]` : address
      await options.out.write(`Forwarding from ${host}:${port} -> ${remote}\n`)
    } catch (err) {
      failed.push({ isLocalhost, message: `unable to create listener: Error ${errorMessage(err)}` })
    }
  if (failed.some(({ isLocalhost }) => !isLocalhost || !hasLocalhost))
    throw new Error(
      `Listeners failed to create with the following errors: [${failed.map(({ message }) => message).join(" ")}]`,
    )
}

async function handle(
  connection: Duplex,
  { local, remote }: ForwardedPort,
  client: PortForwardClient,
  { factory, out }: Forwarding,
): Promise<void> {
  const fail = (message: string) => factory.log.error("portforward.go:522", message)
  try {
    await out.write(`Handling connection for ${local}\n`)
    const { data, error } = client.open(remote)
    connection.on("error", () => data.destroy())
    data.on("error", () => connection.destroy())
    data.pipe(connection)
    connection.pipe(data)
    const message = await error
    if (message === "") return
    fail(`an error occurred forwarding ${local} -> ${remote}: ${message}`)
    connection.destroy()
    // The whole session ends, as upstream's does: what the pod has answered wrongly once may be wrong again.
    client.close()
  } catch (err) {
    fail(`error creating forwarding stream for port ${local} -> ${remote}: ${errorMessage(err)}`)
    connection.destroy()
  }
}

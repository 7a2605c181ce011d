import type { Endpoint } from "../machine/network.ts"
import type { SimulatedContainer } from "./container.ts"
import type { Sandbox } from "./sandbox.ts"

/** An address of a node. */
export class NodeAddress implements Endpoint {
  readonly node: string
  readonly pod = undefined
  readonly #onHost: ReadonlySet<Sandbox>

  /** `onHost` are the sandboxes on the network of the node. */
  constructor(node: string, onHost: ReadonlySet<Sandbox>) {
    this.node = node
    this.#onHost = onHost
  }

  listener(port: number): SimulatedContainer | undefined {
    const containers = [...this.#onHost].flatMap((sandbox) => sandbox.containers)
    return listenerOn(containers, port, true)
  }
}

/** An address of a pod. */
export class PodAddress implements Endpoint {
  readonly node: string
  readonly #sandbox: Sandbox

  constructor(node: string, sandbox: Sandbox) {
    this.node = node
    this.#sandbox = sandbox
  }

  get pod(): NonNullable<Endpoint["pod"]> {
    const { namespace = "", name = "" } = this.#sandbox.config.metadata ?? {}
    return { namespace, name }
  }

  listener(port: number): SimulatedContainer | undefined {
    return listenerOn(this.#sandbox.containers, port, false)
  }
}

const PORTS = "io.kubernetes.container.ports"

/**
 * Returns the container that declares the port; otherwise, unless `declaredOnly`, the last one that serves HTTP, or
 * the first that listens.
 */
function listenerOn(
  containers: readonly SimulatedContainer[],
  port: number,
  declaredOnly: boolean,
): SimulatedContainer | undefined {
  const listening = containers.filter(({ listens }) => listens)
  const declares = ({ config }: SimulatedContainer) => {
    const ports = config.annotations?.[PORTS]
    return (
      ports !== undefined &&
      (JSON.parse(ports) as { containerPort: number }[]).some(({ containerPort }) => containerPort === port)
    )
  }
  return (
    listening.find(declares) ??
    (declaredOnly ? undefined : (listening.findLast(({ behaviour }) => behaviour.http !== undefined) ?? listening[0]))
  )
}

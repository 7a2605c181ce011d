import type { NodeFaults } from "../faults.ts"
import type { Endpoint } from "../machine/network.ts"
import type { SimulatedContainer } from "./container.ts"
import type { Sandbox } from "./sandbox.ts"

const isReachable = ({ off, partitioned }: NodeFaults): boolean => !off && !partitioned

/** An address of this node. */
export class NodeAddress implements Endpoint {
  readonly #faults: NodeFaults
  readonly #onHost: ReadonlySet<Sandbox>

  /** `onHost` are the sandboxes on the network of the node. */
  constructor(faults: NodeFaults, onHost: ReadonlySet<Sandbox>) {
    this.#faults = faults
    this.#onHost = onHost
  }

  get reachable(): boolean {
    return isReachable(this.#faults)
  }

  listener(port: number): SimulatedContainer | undefined {
    const containers = [...this.#onHost].flatMap((sandbox) => sandbox.containers)
    return listenerOn(containers, port, true)
  }
}

/** An address of a pod of this node. */
export class PodAddress implements Endpoint {
  readonly #faults: NodeFaults
  readonly #sandbox: Sandbox

  constructor(faults: NodeFaults, sandbox: Sandbox) {
    this.#faults = faults
    this.#sandbox = sandbox
  }

  get reachable(): boolean {
    return isReachable(this.#faults)
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

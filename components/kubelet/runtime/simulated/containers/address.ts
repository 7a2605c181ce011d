import type { NodeFaults } from "../faults.ts"
import type { Endpoint } from "../machine/network.ts"
import type { SimulatedContainer } from "./container.ts"

/** An address of this node, or of one of its pods. */
export class Address implements Endpoint {
  readonly #faults: NodeFaults
  readonly listener: Endpoint["listener"]

  constructor(faults: NodeFaults, listener: Endpoint["listener"]) {
    this.#faults = faults
    this.listener = listener
  }

  get reachable(): boolean {
    return !this.#faults.off && !this.#faults.partitioned
  }
}

const PORTS = "io.kubernetes.container.ports"

/**
 * Returns the container that declares the port; otherwise, unless `declaredOnly`, the last one that serves HTTP, or
 * the first that listens.
 */
export function listenerOn(
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

import type { ForeseenCheck, ProbeForesight } from "../../probe-foresight.ts"
import type { NodeFaults } from "../faults.ts"
import type { SimulatedNetwork } from "../machine/network.ts"
import type { SandboxChanges } from "./changes.ts"
import type { SimulatedContainer } from "./container.ts"
import type { Sandbox } from "./sandbox.ts"
import { isConstant } from "./shell.ts"

export interface ForesightParts {
  readonly faults: Pick<NodeFaults, "off" | "slowness">
  readonly network: Pick<SimulatedNetwork, "ownerOf">
  readonly changes: SandboxChanges
  container(id: string): SimulatedContainer | undefined
  sandbox(id: string): Sandbox | undefined
}

/**
 * Knows that checks succeed whose answers are the simulation's own: an image without a function for them answers always
 * in the same way, as long as the container runs. What a function of the test answers is never known.
 */
export const simulatedForesight = ({
  faults,
  network,
  changes,
  container,
  sandbox,
}: ForesightParts): ProbeForesight => {
  /** Returns the container that answers at the port, if none but it can, however long that takes. */
  const listenerAt = (home: Sandbox, podIp: string, port: number): SimulatedContainer | undefined => {
    // A container that does not listen yet may take the port when its time comes.
    if (home.hostNetwork || !home.containers.every(({ running, listens }) => listens || !running)) return undefined
    const listener = network.ownerOf(podIp)?.listener(port)
    return listener?.sandboxId === home.id ? listener : undefined
  }

  return {
    succeeds({ containerId, podIp, probe, port }: ForeseenCheck): boolean {
      const own = container(containerId)
      const home = own === undefined ? undefined : sandbox(own.sandboxId)
      if (own?.running !== true || home?.ready !== true || faults.off || faults.slowness !== 1) return false
      const { exec, ignoresCommand } = own.behaviour
      if (probe.exec !== undefined)
        return exec === undefined && (ignoresCommand === true || isConstant(probe.exec.command ?? []))
      if ((probe.httpGet ?? probe.tcpSocket)?.host || port === undefined) return false
      const listener = listenerAt(home, podIp, port)
      if (listener === undefined) return false
      if (probe.httpGet !== undefined) return listener.behaviour.http === undefined
      return probe.tcpSocket !== undefined || (probe.grpc !== undefined && listener.behaviour.grpc === undefined)
    },
    onChange: (containerId, changed) => changes.on(container(containerId)?.sandboxId ?? "", changed),
  }
}

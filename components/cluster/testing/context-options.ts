import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { didYouMean } from "../../../pkg/names/suggest.ts"
import { TestClusterError } from "./caller.ts"
import type { ClusterParts } from "./cluster-parts.ts"

/** How a component of the test runs. */
export interface ContextOptions {
  /**
   * The server or node on which it runs, in a cluster with `servers`: it has this machine's clock, its network, and
   * reaches nothing while the machine is lost. By default it runs beside all machines, which no fault concerns.
   */
  readonly machine?: string
  /** By kind; they restrict the informers of a user who may not see all objects, such as a kubelet. */
  readonly fieldSelectors?: ReadonlyMap<Resource, string>
}

export const isGroups = (value: readonly string[] | ContextOptions): value is readonly string[] => Array.isArray(value)

/** Returns why a component cannot run on a machine; undefined when it can. */
export function machineProblem(
  machine: string,
  { servers, nodes }: Pick<ClusterParts, "servers" | "nodes">,
): TestClusterError | undefined {
  const given = JSON.stringify(machine)
  if (servers === undefined)
    return new TestClusterError(
      `Cannot use machine ${given}: machines have a network and clocks of their own only in a cluster with \`servers\``,
    )
  const names = [...servers.names, ...nodes.names]
  if (names.includes(machine)) return undefined
  return new TestClusterError(
    `There is no machine ${given}${didYouMean(machine, names) || `: there are ${names.join(", ")}`}`,
  )
}

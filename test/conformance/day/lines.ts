import { managerOf } from "../../../pkg/apimachinery/patch/apply/track.ts"

/** A request of a component, with what is compared. */
export interface Written {
  readonly user: string
  readonly userAgent: string
  readonly fieldManager: string | undefined
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource: string | undefined
  /** Of a patch: `strategic`, `merge`, `json` or `apply`. */
  readonly patch: string | undefined
}

export const WRITES: ReadonlySet<string> = new Set(["create", "update", "patch", "delete", "deletecollection"])

/** Components: their writes are compared, and those of users and machines are not. */
export const isComponent = (user: string): boolean =>
  user.startsWith("system:serviceaccount:kube-system:") ||
  user === "system:kube-controller-manager" ||
  user === "system:kube-scheduler"

const shortName = (user: string): string => user.replace("system:serviceaccount:kube-system:", "")

/** Returns a write as a line: `deployment-controller as kube-controller-manager: update deployments/status`. */
export function lineOf({ user, userAgent, fieldManager, verb, group, resource, subresource, patch }: Written): string {
  const what = group === "events.k8s.io" ? `${resource}.${group}` : resource
  const part = subresource === undefined ? "" : `/${subresource}`
  const type = patch === undefined ? "" : ` (${patch})`
  return `${shortName(user)} as ${managerOf(fieldManager, userAgent)}: ${verb} ${what}${part}${type}`
}

/**
 * Returns a user agent without what differs between programs, versions and machines:
 * `deployment-controller: kube-controller-manager/VERSION (PLATFORM) kubernetes/COMMIT/system:…:deployment-controller`.
 */
export const agentLineOf = ({ user, userAgent }: Written): string =>
  `${shortName(user)}: ${userAgent
    .replace(/\/v1\.[^ ]+/, "/VERSION")
    .replace(/\((\w+)\/(\w+)\)/, "(PLATFORM)")
    .replace(/kubernetes\/[^/ ]+/, "kubernetes/COMMIT")}`

/** How often something was seen in each step: the number of the step, from 0, and the count. */
export type BySteps = Readonly<Record<string, number>>

/** Counts what happens during the steps of a day. */
export class Tally {
  readonly #counts = new Map<string, Map<number, number>>()

  add(line: string, step: number): void {
    const steps = this.#counts.get(line) ?? new Map<number, number>()
    steps.set(step, (steps.get(step) ?? 0) + 1)
    this.#counts.set(line, steps)
  }

  /** Returns the counts by line, in the order of the lines. */
  result(): Readonly<Record<string, BySteps>> {
    return Object.fromEntries(
      [...this.#counts]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([line, steps]) => [line, Object.fromEntries([...steps].toSorted(([a], [b]) => a - b))]),
    )
  }
}

/** What is seen of the components of a cluster over the day. */
export interface DayRecord {
  /** Writes that the API took, by step. */
  readonly writes: Readonly<Record<string, BySteps>>
  /** Writes that it refused, by step: conflicts, and what was gone already. */
  readonly refused: Readonly<Record<string, BySteps>>
  /** The user agents of components. */
  readonly agents: readonly string[]
  /** Who owns fields of objects. */
  readonly owners: readonly string[]
  /** What the scheduler tells of pods. */
  readonly told: readonly string[]
}

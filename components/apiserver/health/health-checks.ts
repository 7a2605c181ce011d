import type { Storage, StorageError } from "../../../pkg/storage/storage.ts"
import { Health } from "./health.ts"
import { createHealthSlis } from "../../../pkg/component/health-slis.ts"

/**
 * Checks that pass once bootstrap.ts has run, under the names of upstream's hooks, which tools look for. Sources:
 * pkg/controlplane/instance.go, pkg/registry/rbac/rest, pkg/registry/scheduling/rest.
 */
const START_HOOKS = [
  "start-system-namespaces-controller",
  "start-cluster-authentication-info-controller",
  "rbac/bootstrap-roles",
  "scheduling/bootstrap-system-priority-classes",
  "bootstrap-controller",
  "start-kubernetes-service-cidr-controller",
]

export interface HealthSources {
  /** Returns the store once it is open. */
  readonly storage: () => Storage | undefined
  /** Whether the bootstrap objects exist. */
  readonly started: () => boolean
  /** Start of the process, in ms since the epoch. */
  readonly startedAt: number
}

/** The API server's own checks. The check of the store is called etcd, as upstream. */
export function apiServerHealth({ storage, started, startedAt }: HealthSources): Health {
  const health = new Health(createHealthSlis(startedAt))
  const problemOf = (isOne: (problem: StorageError) => boolean) => (): string | undefined => {
    const open = storage()
    if (open === undefined) return "the store is not open"
    return open.problem !== undefined && isOne(open.problem) ? open.problem.message : undefined
  }
  // A full disk makes the server not ready but keeps it live: a restart would not help, and reads and watches still
  // work.
  health.add(
    "etcd",
    problemOf(({ code }) => code === "damaged"),
  )
  health.add(
    "etcd-readiness",
    problemOf(() => true),
    ["readyz"],
  )
  for (const hook of START_HOOKS) health.add(`poststarthook/${hook}`, () => (started() ? undefined : "not finished"))
  return health
}

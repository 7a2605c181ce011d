import type { Storage, StorageError } from "../../pkg/storage/storage.ts"
import { Health } from "./endpoints/health.ts"
import { createHealthSlis } from "./endpoints/health-slis.ts"

/**
 * What bootstrap.ts sees to before the first request is answered, by the names of the hooks that do it upstream: tools
 * look for them. Sources: pkg/controlplane/instance.go, pkg/registry/rbac/rest, pkg/registry/scheduling/rest.
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
  /** The store, once it is open. */
  readonly storage: () => Storage | undefined
  /** Whether all is there that a cluster has from its start. */
  readonly started: () => boolean
  /** Of the process, in ms since the epoch. */
  readonly startedAt: number
}

/** The API server's own checks; the store goes by the name that it has upstream. */
export function apiServerHealth({ storage, started, startedAt }: HealthSources): Health {
  const health = new Health(createHealthSlis(startedAt))
  const problemOf = (isOne: (problem: StorageError) => boolean) => (): string | undefined => {
    const open = storage()
    if (open === undefined) return "the store is not open"
    return open.problem !== undefined && isOne(open.problem) ? open.problem.message : undefined
  }
  // To start the server again mends no full disk, and reads and watches go on. But a server that takes no writes is not
  // ready.
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

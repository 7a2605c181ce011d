import type { Storage } from "../../pkg/storage/storage.ts"
import { Health } from "./endpoints/health.ts"

/**
 * What bootstrap.ts sees to before the first request is answered, by the names of the hooks that do it upstream: tools look for them.
 * Sources: pkg/controlplane/instance.go, pkg/registry/rbac/rest, pkg/registry/scheduling/rest.
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
}

/** The API server's own checks; the store goes by the name that it has upstream. */
export function apiServerHealth({ storage, started }: HealthSources): Health {
  const health = new Health()
  const store = (): string | undefined => {
    const open = storage()
    if (open === undefined) return "the store is not open"
    // A full disk is none: reads and watches go on, and writes do once there is room.
    return open.problem?.code === "damaged" ? open.problem.message : undefined
  }
  health.add("etcd", store)
  health.add("etcd-readiness", store, ["readyz"])
  for (const hook of START_HOOKS) health.add(`poststarthook/${hook}`, () => (started() ? undefined : "not finished"))
  return health
}

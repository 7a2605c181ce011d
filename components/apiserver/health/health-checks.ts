import type { Storage, StorageError } from "../../../pkg/storage/storage.ts"
import { Health } from "./health.ts"
import { createHealthSlis } from "../../../pkg/component/health-slis.ts"

/**
 * Checks that pass once bootstrap.ts has run, under the names of upstream's and in its order: tools look for them, as
 * test/e2e/apimachinery/health_handlers.go does. Upstream's hooks for parts that k3ts does not have (identities of
 * servers and the endpoints of its peers) are left out.
 */
const START_CHECKS = [
  "poststarthook/start-apiserver-admission-initializer",
  "poststarthook/generic-apiserver-start-informers",
  "poststarthook/priority-and-fairness-config-consumer",
  "poststarthook/priority-and-fairness-filter",
  "poststarthook/storage-object-count-tracker-hook",
  "poststarthook/start-apiextensions-informers",
  "poststarthook/start-apiextensions-controllers",
  "poststarthook/crd-informer-synced",
  "poststarthook/start-system-namespaces-controller",
  "poststarthook/start-cluster-authentication-info-controller",
  "poststarthook/storage-readiness",
  "poststarthook/start-legacy-token-tracking-controller",
  "poststarthook/start-service-ip-repair-controllers",
  "poststarthook/rbac/bootstrap-roles",
  "poststarthook/scheduling/bootstrap-system-priority-classes",
  "poststarthook/priority-and-fairness-config-producer",
  "poststarthook/bootstrap-controller",
  "poststarthook/start-kubernetes-service-cidr-controller",
  "poststarthook/start-kube-aggregator-informers",
  "poststarthook/apiservice-status-local-available-controller",
  "poststarthook/apiservice-status-remote-available-controller",
  "poststarthook/apiservice-registration-controller",
  "poststarthook/apiservice-wait-for-first-sync",
  "poststarthook/apiservice-discovery-controller",
  "poststarthook/kube-apiserver-autoregistration",
  "autoregister-completion",
  "poststarthook/apiservice-openapi-controller",
  "poststarthook/apiservice-openapiv3-controller",
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
  const notFinished = () => (started() ? undefined : "not finished")
  health.add("informer-sync", notFinished, ["readyz"])
  for (const name of START_CHECKS) health.add(name, notFinished)
  return health
}

import { APIService } from "../../../pkg/api/apiregistration/v1/apiservice.ts"
import { ClusterRole } from "../../../pkg/api/rbac/v1/clusterrole.ts"
import { ClusterRoleBinding } from "../../../pkg/api/rbac/v1/clusterrolebinding.ts"
import { asKind, type KubeObject, type Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Storage, Write } from "../../../pkg/storage/storage.ts"
import { storageKey } from "../cacher/view.ts"

interface Obsolete {
  readonly resource: Resource
  readonly name: string
  /** Whether the object is the server's own still, and nobody has applied another of this name. */
  readonly isOurs: (object: KubeObject) => boolean
}

const isBootstrapped = ({ metadata: { labels, managedFields = [] } }: KubeObject): boolean =>
  labels?.["kubernetes.io/bootstrapping"] === "rbac-defaults" &&
  managedFields.every(({ manager }) => manager === "kube-apiserver")

/**
 * Objects that earlier versions have created at their start: the APIService and the roles of the built-in metrics
 * server, which kept the chart of metrics-server from being installed.
 */
const OBSOLETE: readonly Obsolete[] = [
  {
    resource: APIService,
    name: "v1beta1.metrics.k8s.io",
    isOurs: (object) => asKind(APIService, object).spec.service?.name === "k3ts-metrics",
  },
  { resource: ClusterRole, name: "system:metrics-server", isOurs: isBootstrapped },
  { resource: ClusterRole, name: "system:aggregated-metrics-reader", isOurs: isBootstrapped },
  { resource: ClusterRoleBinding, name: "system:metrics-server", isOurs: isBootstrapped },
]

/** Returns the deletions of what earlier versions have created and this one does not; undefined for what is gone. */
export const obsoleteObjects = ({
  storage,
  clock,
}: {
  readonly storage: Storage
  readonly clock: Clock
}): readonly (() => Write | undefined)[] =>
  OBSOLETE.map(({ resource, name, isOurs }) => () => {
    const key = storageKey(resource, { name })
    const stored = storage.get(key)
    if (stored === undefined || !isOurs(stored.object)) return undefined
    return { key, object: null, expected: stored.revision, time: clock.now(), author: "system:apiserver" }
  })

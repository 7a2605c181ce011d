import { deepEqual } from "../../apimachinery/json/equal.ts"
import { fromLabelSelector } from "../../apimachinery/selectors/labels.ts"
import { parseTime } from "../../apimachinery/scalars/time.ts"
import type { Deployment } from "../../api/apps/v1/deployment.ts"
import type { ReplicaSet } from "../../api/apps/v1/replicaset.ts"
import { describeReasons } from "./conditions.ts"
import { listInChunks } from "./describe-client.ts"
import type { Describer, Describing } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { describeAnnotations, describeLabels } from "./metadata.ts"
import { describePodTemplate } from "./pod-template.ts"
import { description } from "./prefix-writer.ts"
import { REPLICA_SETS } from "./replicaset.ts"
import { longTime } from "./times.ts"

const DEPLOYMENTS = { group: "apps", version: "v1", resource: "deployments" }
const HASH_LABEL = "pod-template-hash"

export const describeDeployment: Describer = async (describing, namespace, name) => {
  const deployment = await describing.client.get<Deployment>(DEPLOYMENTS, namespace, name)
  const { metadata, spec, status } = deployment
  const events = await eventsOf(describing, deployment)
  const { newest, old } = await replicaSetsOf(describing, deployment)
  return description((w) => {
    w.row(0, "Name:", metadata.name ?? "")
    w.row(0, "Namespace:", metadata.namespace ?? "")
    w.row(0, "CreationTimestamp:", longTime(metadata.creationTimestamp, describing.zone))
    describeLabels(w, "Labels", metadata.labels)
    describeAnnotations(w, "Annotations", metadata.annotations)
    w.row(0, "Selector:", fromLabelSelector(spec.selector).toString())
    const { updatedReplicas = 0, replicas = 0, availableReplicas = 0, unavailableReplicas = 0 } = status
    const counts = `${updatedReplicas} updated | ${replicas} total | ${availableReplicas} available | ${unavailableReplicas} unavailable`
    w.row(0, "Replicas:", `${spec.replicas ?? 0} desired | ${counts}`)
    w.row(0, "StrategyType:", spec.strategy?.type ?? "")
    w.row(0, "MinReadySeconds:", spec.minReadySeconds ?? 0)
    const rolling = spec.strategy?.rollingUpdate
    if (rolling) {
      const { maxUnavailable = "<nil>", maxSurge = "<nil>" } = rolling
      w.row(0, "RollingUpdateStrategy:", `${maxUnavailable} max unavailable, ${maxSurge} max surge`)
    }
    describePodTemplate(w, spec.template, describing)
    describeReasons(w, status.conditions)
    if (old.length > 0 || newest.length > 0) {
      w.row(0, "OldReplicaSets:", replicaSetsText(old))
      w.row(0, "NewReplicaSet:", replicaSetsText(newest))
    }
    describeEvents(w, events, describing.now())
  })
}

const replicaSetsText = (replicaSets: readonly ReplicaSet[]): string =>
  replicaSets
    .map(({ metadata, spec, status }) => {
      const counts = `${status.replicas ?? 0}/${spec.replicas ?? 0}`
      return `${metadata.name} (${counts} replicas created)`
    })
    .join(", ") || "<none>"

interface ReplicaSets {
  /** The one with the pod template of the Deployment, if there is one. */
  readonly newest: readonly ReplicaSet[]
  readonly old: readonly ReplicaSet[]
}

/** Returns the ReplicaSets of a Deployment; none where they cannot be read. Source: kubectl pkg/util/deployment. */
async function replicaSetsOf({ client, chunkSize }: Describing, { metadata, spec }: Deployment): Promise<ReplicaSets> {
  const { namespace = "", uid } = metadata
  const labelSelector = fromLabelSelector(spec.selector).toString()
  const query = labelSelector === "" ? {} : { labelSelector }
  const all = await listInChunks<ReplicaSet>(client, { path: REPLICA_SETS, namespace, query, limit: chunkSize }).catch(
    () => [],
  )
  const owned = all
    .filter(({ metadata: { ownerReferences = [] } }) =>
      ownerReferences.some((owner) => owner.controller === true && owner.uid === uid),
    )
    .sort(byAge)
  const newest = owned.find((replicaSet) => sameTemplate(replicaSet.spec.template, spec.template))
  return { newest: newest === undefined ? [] : [newest], old: owned.filter((replicaSet) => replicaSet !== newest) }
}

/** The oldest first, and by name those of the same second. */
const byAge = (a: ReplicaSet, b: ReplicaSet): number =>
  createdAt(a) - createdAt(b) || ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1)
const createdAt = ({ metadata }: ReplicaSet): number =>
  (metadata.creationTimestamp ? parseTime(metadata.creationTimestamp) : undefined) ?? 0

type Template = ReplicaSet["spec"]["template"]
const sameTemplate = (a: Template, b: Template): boolean => deepEqual(withoutHash(a), withoutHash(b))

function withoutHash(template: Template): unknown {
  const { [HASH_LABEL]: _, ...labels } = template?.metadata?.labels ?? {}
  return { ...template, metadata: { ...template?.metadata, labels } }
}

import { fromLabelSelector } from "../../apimachinery/selectors/labels.ts"
import type { Deployment } from "../../api/apps/v1/deployment.ts"
import type { ReplicaSet } from "../../api/apps/v1/replicaset.ts"
import { describeReasons } from "./conditions.ts"
import type { Describer } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { describeAnnotations, describeLabels } from "./metadata.ts"
import { describePodTemplate } from "./pod-template.ts"
import { description } from "./prefix-writer.ts"
import { replicaSetsOf } from "./replica-sets.ts"
import { longTime } from "./times.ts"

const DEPLOYMENTS = { group: "apps", version: "v1", resource: "deployments" }

export const describeDeployment: Describer = async (describing, namespace, name) => {
  const deployment = await describing.client.get<Deployment>(DEPLOYMENTS, namespace, name)
  const { metadata, spec, status } = deployment
  const events = await eventsOf(describing, deployment)
  // A Deployment is described without its ReplicaSets where they cannot be read.
  const { newest, old } = await replicaSetsOf(describing, deployment).catch(() => ({ newest: [], old: [] }))
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

import { fromLabelSelector } from "../../apimachinery/selectors/labels.ts"
import type { ReplicaSet } from "../../api/apps/v1/replicaset.ts"
import { errorMessage } from "../../errors/error-message.ts"
import { describeReasons } from "./conditions.ts"
import { podPhasesOf, podPhasesText } from "./controllers.ts"
import type { Describer } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { controllerOf, describeAnnotations, describeLabels, selectorText } from "./metadata.ts"
import { describePodTemplate } from "./pod-template.ts"
import { description } from "./prefix-writer.ts"
import { REPLICA_SETS } from "./replica-sets.ts"

export const describeReplicaSet: Describer = async (describing, namespace, name) => {
  const replicaSet = await describing.client.get<ReplicaSet>(REPLICA_SETS, namespace, name)
  const { metadata, spec, status } = replicaSet
  const phases = await podPhasesOf(describing, metadata, fromLabelSelector(spec.selector).toString()).then(
    podPhasesText,
    // Only here a description goes on without the pods.
    (err: unknown) => `error in fetching pods: ${errorMessage(err)}`,
  )
  const events = await eventsOf(describing, replicaSet)
  return description((w) => {
    w.row(0, "Name:", metadata.name ?? "")
    w.row(0, "Namespace:", metadata.namespace ?? "")
    w.row(0, "Selector:", selectorText(spec.selector))
    describeLabels(w, "Labels", metadata.labels)
    describeAnnotations(w, "Annotations", metadata.annotations)
    const controller = controllerOf(metadata)
    if (controller !== undefined) w.row(0, "Controlled By:", controller)
    w.row(0, "Replicas:", `${status.replicas ?? 0} current / ${spec.replicas ?? 0} desired`)
    w.row(0, "Pods Status:", phases)
    describePodTemplate(w, spec.template, describing)
    describeReasons(w, status.conditions)
    describeEvents(w, events, describing.now())
  })
}

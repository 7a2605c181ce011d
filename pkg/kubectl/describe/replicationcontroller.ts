import type { ReplicationController } from "../../api/core/v1/replicationcontroller.ts"
import { describeReasons } from "./conditions.ts"
import { podPhasesOf, podPhasesText } from "./controllers.ts"
import type { Describer } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { describeAnnotations, describeLabels, labelsText, setText } from "./metadata.ts"
import { describePodTemplate } from "./pod-template.ts"
import { description } from "./prefix-writer.ts"

const REPLICATION_CONTROLLERS = { group: "", version: "v1", resource: "replicationcontrollers" }

export const describeReplicationController: Describer = async (describing, namespace, name) => {
  const controller = await describing.client.get<ReplicationController>(REPLICATION_CONTROLLERS, namespace, name)
  const { metadata, spec, status } = controller
  const phases = await podPhasesOf(describing, metadata, setText(spec.selector))
  const events = await eventsOf(describing, controller)
  return description((w) => {
    w.row(0, "Name:", metadata.name ?? "")
    w.row(0, "Namespace:", metadata.namespace ?? "")
    w.row(0, "Selector:", labelsText(spec.selector))
    describeLabels(w, "Labels", metadata.labels)
    describeAnnotations(w, "Annotations", metadata.annotations)
    w.row(0, "Replicas:", `${status.replicas ?? 0} current / ${spec.replicas ?? 0} desired`)
    w.row(0, "Pods Status:", podPhasesText(phases))
    describePodTemplate(w, spec.template, describing)
    describeReasons(w, status.conditions)
    describeEvents(w, events, describing.now())
  })
}

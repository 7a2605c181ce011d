import { fromLabelSelector } from "../../apimachinery/selectors/labels.ts"
import type { DaemonSet } from "../../api/apps/v1/daemonset.ts"
import { podPhasesOf, podPhasesText } from "./controllers.ts"
import type { Describer } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { describeAnnotations, describeLabels, labelsText } from "./metadata.ts"
import { describePodTemplate } from "./pod-template.ts"
import { description } from "./prefix-writer.ts"

const DAEMON_SETS = { group: "apps", version: "v1", resource: "daemonsets" }

export const describeDaemonSet: Describer = async (describing, namespace, name) => {
  const daemonSet = await describing.client.get<DaemonSet>(DAEMON_SETS, namespace, name)
  const { metadata, spec, status } = daemonSet
  const selector = fromLabelSelector(spec.selector).toString()
  const phases = await podPhasesOf(describing, metadata, selector)
  const events = await eventsOf(describing, daemonSet)
  return description((w) => {
    w.row(0, "Name:", metadata.name ?? "")
    w.row(0, "Namespace:", metadata.namespace ?? "")
    w.row(0, "Selector:", selector)
    w.row(0, "Node-Selector:", labelsText(spec.template.spec.nodeSelector))
    describeLabels(w, "Labels", metadata.labels)
    describeAnnotations(w, "Annotations", metadata.annotations)
    w.row(0, `Desired Number of Nodes Scheduled: ${status.desiredNumberScheduled ?? 0}`)
    w.row(0, `Current Number of Nodes Scheduled: ${status.currentNumberScheduled ?? 0}`)
    w.row(0, `Number of Nodes Scheduled with Up-to-date Pods: ${status.updatedNumberScheduled ?? 0}`)
    w.row(0, `Number of Nodes Scheduled with Available Pods: ${status.numberAvailable ?? 0}`)
    w.row(0, `Number of Nodes Misscheduled: ${status.numberMisscheduled ?? 0}`)
    w.row(0, "Pods Status:", podPhasesText(phases))
    describePodTemplate(w, spec.template, describing)
    describeEvents(w, events, describing.now())
  })
}

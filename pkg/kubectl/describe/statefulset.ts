import { fromLabelSelector } from "../../apimachinery/selectors/labels.ts"
import type { StatefulSet } from "../../api/apps/v1/statefulset.ts"
import { classOf } from "./claims.ts"
import { podPhasesOf, podPhasesText } from "./controllers.ts"
import type { Describer } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { describeAnnotations, describeIndentedLabels, describeLabels } from "./metadata.ts"
import { describePodTemplate } from "./pod-template.ts"
import { description, type PrefixWriter } from "./prefix-writer.ts"
import { quantityText } from "./resources.ts"
import { longTime } from "./times.ts"

const STATEFUL_SETS = { group: "apps", version: "v1", resource: "statefulsets" }

export const describeStatefulSet: Describer = async (describing, namespace, name) => {
  const statefulSet = await describing.client.get<StatefulSet>(STATEFUL_SETS, namespace, name)
  const { metadata, spec, status } = statefulSet
  const selector = fromLabelSelector(spec.selector).toString()
  const phases = await podPhasesOf(describing, metadata, selector)
  const events = await eventsOf(describing, statefulSet)
  return description((w) => {
    w.row(0, "Name:", metadata.name ?? "")
    w.row(0, "Namespace:", metadata.namespace ?? "")
    w.row(0, "CreationTimestamp:", longTime(metadata.creationTimestamp, describing.zone))
    w.row(0, "Selector:", selector)
    describeLabels(w, "Labels", metadata.labels)
    describeAnnotations(w, "Annotations", metadata.annotations)
    w.row(0, "Replicas:", `${spec.replicas ?? 0} desired | ${status.replicas ?? 0} total`)
    w.row(0, "Update Strategy:", spec.updateStrategy?.type ?? "")
    const { partition, maxUnavailable } = spec.updateStrategy?.rollingUpdate ?? {}
    if (partition !== undefined) {
      w.row(1, "Partition:", partition)
      if (maxUnavailable !== undefined) w.row(1, "MaxUnavailable:", maxUnavailable)
    }
    w.row(0, "Pods Status:", podPhasesText(phases))
    describePodTemplate(w, spec.template, describing)
    describeClaimTemplates(w, spec.volumeClaimTemplates)
    describeEvents(w, events, describing.now())
  })
}

function describeClaimTemplates(
  w: PrefixWriter,
  templates: StatefulSet["spec"]["volumeClaimTemplates"] | undefined = [],
): void {
  if (templates.length === 0) return w.row(0, "Volume Claims:", "<none>")
  w.row(0, "Volume Claims:")
  for (const { metadata, spec } of templates) {
    w.row(1, "Name:", metadata.name ?? "")
    w.row(1, "StorageClass:", classOf(metadata, spec))
    describeIndentedLabels(w, "  ", "Labels", metadata.labels)
    describeIndentedLabels(w, "  ", "Annotations", metadata.annotations)
    const storage = spec.resources?.requests?.["storage"]
    w.row(1, "Capacity:", storage === undefined ? "<default>" : quantityText(storage))
    w.row(1, "Access Modes:", `[${(spec.accessModes ?? []).join(" ")}]`)
  }
}

import type { PodTemplateSpec } from "../../api/core/v1/podtemplate/podtemplatespec.ts"
import { describeContainers } from "./containers.ts"
import type { Describing } from "./describing.ts"
import { describeAnnotations, describeLabels } from "./metadata.ts"
import type { PrefixWriter } from "./prefix-writer.ts"
import { describeSchedulingGroup, describeSpread, describeTolerations } from "./scheduling.ts"
import { describeVolumes } from "./volumes.ts"

const INDENT = "  "

/** Writes the template of a controller's pods. Source: DescribePodTemplate. */
export function describePodTemplate(
  w: PrefixWriter,
  template: PodTemplateSpec | undefined,
  describing: Describing,
): void {
  const { zone } = describing
  w.row(0, "Pod Template:")
  if (!template) return w.write(1, "<unset>")
  const { metadata: { labels, annotations = {} } = {}, spec } = template
  describeLabels(w, "  Labels", labels)
  if (Object.keys(annotations).length > 0) describeAnnotations(w, "  Annotations", annotations)
  if (spec.serviceAccountName) w.row(1, "Service Account:", spec.serviceAccountName)
  if (spec.initContainers?.length)
    describeContainers(w, { title: "Init Containers", containers: spec.initContainers, indent: INDENT, zone })
  describeContainers(w, { title: "Containers", containers: spec.containers ?? [], indent: INDENT, zone })
  describeVolumes(w, spec.volumes, INDENT, describing)
  describeSpread(w, INDENT, spec.topologySpreadConstraints)
  if (spec.priorityClassName) w.row(1, "Priority Class Name:", spec.priorityClassName)
  describeLabels(w, "  Node-Selectors", spec.nodeSelector)
  describeTolerations(w, "  Tolerations", spec.tolerations)
  describeSchedulingGroup(w, INDENT, spec)
}

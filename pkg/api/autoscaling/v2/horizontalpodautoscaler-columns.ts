import type { Column, KubeObject } from "../../../apimachinery/resource.ts"
import type { HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus } from "./horizontalpodautoscalerspec.ts"
import type { MetricStatus, MetricValueStatus } from "./metric-status.ts"
import type { MetricSpec, MetricTarget } from "./metrics.ts"

/** The parts of an autoscaler in v2 that its columns show. */
interface AutoscalerView {
  readonly spec: HorizontalPodAutoscalerSpec
  readonly status: HorizontalPodAutoscalerStatus
}

/** The columns that every version shows. Source: printHorizontalPodAutoscaler in pkg/printers/internalversion. */
export const autoscalerColumns = <T extends KubeObject>(inV2: (object: T) => AutoscalerView): readonly Column<T>[] => [
  {
    name: "Reference",
    type: "string",
    doc: "The workload that is scaled.",
    value: (object) => {
      const { kind, name } = inV2(object).spec.scaleTargetRef
      return `${kind}/${name}`
    },
  },
  {
    name: "Targets",
    type: "string",
    doc: "Present and wanted value of the first metrics.",
    value(object) {
      const { spec, status } = inV2(object)
      return targets(spec.metrics ?? [], status.currentMetrics ?? [])
    },
  },
  {
    name: "MinPods",
    type: "string",
    doc: "Least number of replicas.",
    value: (object) => String(inV2(object).spec.minReplicas),
  },
  {
    name: "MaxPods",
    type: "string",
    doc: "Greatest number of replicas.",
    value: (object) => inV2(object).spec.maxReplicas,
  },
  {
    name: "Replicas",
    type: "string",
    doc: "Number of replicas that it saw last.",
    value: (object) => inV2(object).status.currentReplicas ?? 0,
  },
]

const MOST_SHOWN = 2

function targets(specs: readonly MetricSpec[], statuses: readonly MetricStatus[]): string {
  if (specs.length === 0) return "<none>"
  const shown = specs.slice(0, MOST_SHOWN).map((spec, i) => targetText(spec, statuses[i]))
  const more = specs.length - MOST_SHOWN
  return shown.join(", ") + (more > 0 ? ` + ${more} more...` : "")
}

const UNKNOWN = "<unknown>"

function targetText(spec: MetricSpec, status: MetricStatus | undefined): string {
  switch (spec.type) {
    case "External":
      return valueText(spec.external?.target, status?.external?.current)
    case "Object":
      return valueText(spec.object?.target, status?.object?.current)
    case "Pods":
      return `${status?.pods?.current.averageValue ?? UNKNOWN}/${spec.pods?.target.averageValue ?? UNKNOWN}`
    case "Resource":
      return `${spec.resource?.name}: ${resourceText(spec.resource?.target, status?.resource?.current)}`
    case "ContainerResource":
      return `${spec.containerResource?.name}: ${resourceText(spec.containerResource?.target, status?.containerResource?.current)}`
    default:
      return "<unknown type>"
  }
}

const valueText = (target: MetricTarget | undefined, current: MetricValueStatus | undefined): string =>
  target?.averageValue === undefined
    ? `${current?.value ?? UNKNOWN}/${target?.value ?? UNKNOWN}`
    : `${current?.averageValue ?? UNKNOWN}/${target.averageValue} (avg)`

function resourceText(target: MetricTarget | undefined, current: MetricValueStatus | undefined): string {
  if (target?.averageValue !== undefined) return `${current?.averageValue ?? UNKNOWN}/${target.averageValue}`
  const percent = (value: number | undefined, missing: string) => (value === undefined ? missing : `${value}%`)
  return `${percent(current?.averageUtilization, UNKNOWN)}/${percent(target?.averageUtilization, "<auto>")}`
}

import { goQuoted } from "../../apimachinery/go/go-text.ts"
import type { HorizontalPodAutoscaler as AutoscalerV1 } from "../../api/autoscaling/v1/horizontalpodautoscaler.ts"
import type { HorizontalPodAutoscaler } from "../../api/autoscaling/v2/horizontalpodautoscaler.ts"
import type { HPAScalingRules, MetricSpec } from "../../api/autoscaling/v2/metrics.ts"
import type { Describer, Describing } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { describeMetadata } from "./metadata.ts"
import { description, type PrefixWriter } from "./prefix-writer.ts"
import { quantityPointerText } from "./resources.ts"
import { longTime } from "./times.ts"

const at = (version: string) => ({ group: "autoscaling", version, resource: "horizontalpodautoscalers" })
const UNKNOWN = "<unknown>"

/** Describes an autoscaler in v2, or in v1 where the server has only that. */
export const describeHorizontalPodAutoscaler: Describer = async (describing, namespace, name) => {
  const autoscaler = await describing.client
    .get<HorizontalPodAutoscaler>(at("v2"), namespace, name)
    .catch(() => undefined)
  if (autoscaler === undefined)
    return describeV1(describing, await describing.client.get<AutoscalerV1>(at("v1"), namespace, name))
  const events = await eventsOf(describing, autoscaler)
  const { spec, status } = autoscaler
  return description((w) => {
    describeHead(w, autoscaler, describing)
    w.row(0, "Metrics:", "( current / target )")
    for (const [i, metric] of (spec.metrics ?? []).entries()) describeMetric(w, metric, status?.currentMetrics?.[i])
    describeReplicas(w, autoscaler)
    if (spec.behavior) {
      w.row(0, "Behavior:")
      describeBehavior(w, "Scale Up", spec.behavior.scaleUp)
      describeBehavior(w, "Scale Down", spec.behavior.scaleDown)
    }
    describeTarget(w, autoscaler)
    const conditions = status?.conditions ?? []
    if (conditions.length > 0) {
      w.row(0, "Conditions:")
      w.row(1, "Type", "Status", "Reason", "Message")
      w.row(1, "----", "------", "------", "-------")
    }
    for (const { type, status: state, reason = "", message = "" } of conditions) w.row(1, type, state, reason, message)
    describeEvents(w, events, describing.now())
  })
}

async function describeV1(describing: Describing, autoscaler: AutoscalerV1): Promise<string> {
  const events = await eventsOf(describing, autoscaler)
  const { spec, status } = autoscaler
  return description((w) => {
    describeHead(w, autoscaler, describing)
    if (spec.targetCPUUtilizationPercentage !== undefined) {
      w.row(0, "Target CPU utilization:", `${spec.targetCPUUtilizationPercentage}%`)
      w.row(0, "Current CPU utilization:", `${status?.currentCPUUtilizationPercentage ?? UNKNOWN}%`)
    }
    describeReplicas(w, autoscaler)
    describeTarget(w, autoscaler)
    describeEvents(w, events, describing.now())
  })
}

type Autoscaler = AutoscalerV1 | HorizontalPodAutoscaler

function describeHead(w: PrefixWriter, { metadata, spec }: Autoscaler, { zone }: Describing): void {
  describeMetadata(w, metadata)
  w.row(0, "CreationTimestamp:", longTime(metadata.creationTimestamp, zone))
  w.row(0, "Reference:", `${spec.scaleTargetRef.kind}/${spec.scaleTargetRef.name}`)
}

function describeReplicas(w: PrefixWriter, { spec }: Autoscaler): void {
  w.row(0, "Min replicas:", spec.minReplicas ?? "<unset>")
  w.row(0, "Max replicas:", spec.maxReplicas)
}

function describeTarget(w: PrefixWriter, { spec, status }: Autoscaler): void {
  const counts = `${status?.currentReplicas ?? 0} current / ${status?.desiredReplicas ?? 0} desired`
  w.row(0, `${spec.scaleTargetRef.kind} pods:`, counts)
}

type MetricStatus = NonNullable<NonNullable<HorizontalPodAutoscaler["status"]>["currentMetrics"]>[number]
type Value = MetricSpec["external"] extends infer E
  ? E extends { readonly target: infer T }
    ? Partial<T>
    : never
  : never

function describeMetric(w: PrefixWriter, metric: MetricSpec, status: MetricStatus | undefined): void {
  const { external, pods, object, resource, containerResource } = metric
  if (metric.type === "External" && external) {
    const current = status?.external?.current
    const { averageValue, value } = external.target
    const name = goQuoted(external.metric.name)
    if (averageValue !== undefined)
      w.row(1, `${name} (target average value):`, ratio(current?.averageValue ?? UNKNOWN, averageValue))
    else w.row(1, `${name} (target value):`, ratio(valueOf(current, "value"), quantityPointerText(value)))
  } else if (metric.type === "Pods" && pods) {
    const current = valueOf(status?.pods?.current, "averageValue")
    w.row(1, `${goQuoted(pods.metric.name)} on pods:`, ratio(current, quantityPointerText(pods.target.averageValue)))
  } else if (metric.type === "Object" && object) {
    const { kind, name } = object.describedObject
    w.write(1, `"${object.metric.name}" on ${kind}/${name} `)
    const isAverage = object.target.type === "AverageValue"
    const which = isAverage ? "averageValue" : "value"
    const current = valueOf(status?.object?.current, which)
    const target = quantityPointerText(object.target[which])
    w.row(0, isAverage ? "(target average value):" : "(target value):", ratio(current, target))
  } else if (metric.type === "Resource" && resource) {
    w.write(1, `resource ${resource.name} on pods`)
    describeUsage(w, resource.target, status?.resource?.current)
  } else if (metric.type === "ContainerResource" && containerResource) {
    w.write(1, `resource ${containerResource.name} of container "${containerResource.container}" on pods`)
    describeUsage(w, containerResource.target, status?.containerResource?.current)
  } else w.row(1, `<unknown metric type ${goQuoted(metric.type)}>`)
}

interface Current {
  readonly value?: string | undefined
  readonly averageValue?: string | undefined
  readonly averageUtilization?: number | undefined
}

function describeUsage(
  w: PrefixWriter,
  { averageValue, averageUtilization }: Value,
  current: Current | undefined,
): void {
  if (averageValue !== undefined)
    return w.row(0, ":", ratio(valueOf(current, "averageValue"), quantityPointerText(averageValue)))
  const used =
    current?.averageUtilization === undefined
      ? UNKNOWN
      : `${current.averageUtilization}% (${quantityPointerText(current.averageValue)})`
  const target = averageUtilization === undefined ? "<auto>" : `${averageUtilization}%`
  w.row(1, "(as a percentage of request):", ratio(used, target))
}

const ratio = (current: string, target: string): string => `${current} / ${target}`

const valueOf = (current: Current | undefined, which: "value" | "averageValue"): string =>
  current === undefined ? UNKNOWN : quantityPointerText(current[which])

function describeBehavior(w: PrefixWriter, title: string, rules: HPAScalingRules | undefined): void {
  if (!rules) return
  const { stabilizationWindowSeconds, policies = [], selectPolicy = "Max" } = rules
  w.row(1, `${title}:`)
  if (stabilizationWindowSeconds !== undefined) w.row(2, `Stabilization Window: ${stabilizationWindowSeconds} seconds`)
  if (policies.length === 0) return
  w.row(2, `Select Policy: ${selectPolicy}`)
  w.row(2, "Policies:")
  for (const { type, value, periodSeconds } of policies)
    w.row(3, `- Type: ${type}`, `Value: ${value}`, `Period: ${periodSeconds} seconds`)
}

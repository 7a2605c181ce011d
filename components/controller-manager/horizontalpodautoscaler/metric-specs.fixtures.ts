import type { MetricSpec } from "../../../pkg/api/autoscaling/v2/metrics.ts"
import type { Given } from "./reconciliations.fixtures.ts"

export const spec = (metric: object): MetricSpec => metric as unknown as MetricSpec
export const CPU = (averageUtilization: number) =>
  spec({ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization } } })
export const CONTAINER_CPU = (averageUtilization: number) =>
  spec({
    type: "ContainerResource",
    containerResource: { name: "cpu", container: "main", target: { type: "Utilization", averageUtilization } },
  })
export const PODS = (averageValue: string) =>
  spec({ type: "Pods", pods: { metric: { name: "qps" }, target: { type: "AverageValue", averageValue } } })
export const describedObject = { apiVersion: "apps/v1", kind: "Deployment", name: "some" }
export const OBJECT = (value: string) =>
  spec({ type: "Object", object: { describedObject, metric: { name: "qps" }, target: { type: "Value", value } } })
export const OBJECT_SHARE = (averageValue: string) =>
  spec({
    type: "Object",
    object: { describedObject, metric: { name: "qps" }, target: { type: "AverageValue", averageValue } },
  })
export const EXTERNAL = (value: string) =>
  spec({ type: "External", external: { metric: { name: "qps", selector: {} }, target: { type: "Value", value } } })
export const EXTERNAL_SHARE = (averageValue: string) =>
  spec({
    type: "External",
    external: { metric: { name: "qps", selector: {} }, target: { type: "AverageValue", averageValue } },
  })
export const UNKNOWN = spec({ type: "CheddarCheese" })

export const RESCALED = ["AbleToScale=True SucceededRescale"]
export const FOUND = "ScalingActive=True ValidMetricFound"
export const WITHIN = "ScalingLimited=False DesiredWithinRange"
export const SCALED = [...RESCALED, FOUND, WITHIN]
export const STAYED = ["AbleToScale=True ReadyForNewScale", FOUND, WITHIN]
export const STUCK = (reason: string) => ["AbleToScale=True SucceededGetScale", `ScalingActive=False ${reason}`]

export interface Row extends Given {
  readonly title: string
  readonly wants: number
  readonly told?: readonly string[]
}

export const three = { replicas: 3, least: 2, most: 6 }
export const five = { replicas: 5, least: 2, most: 6, looks: 2 }

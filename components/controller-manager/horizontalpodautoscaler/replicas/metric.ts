import { formatQuantity, milliOf, type QuantityFormat } from "../../../../pkg/apimachinery/scalars/quantity.ts"
import { fromLabelSelector } from "../../../../pkg/apimachinery/selectors/labels.ts"
import type { LabelSelector } from "../../../../pkg/apimachinery/meta.ts"
import type { MetricSpec, MetricTarget } from "../../../../pkg/api/autoscaling/v2/metrics.ts"
import type { MetricStatus } from "../../../../pkg/api/autoscaling/v2/metric-status.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import type { MetricsClient } from "./metrics-client.ts"
import {
  replicasForAverage,
  replicasForShare,
  replicasForUtilization,
  replicasForValue,
  type PodsQuestion,
  type Tolerances,
} from "./replicas.ts"

/** The workload to scale, in its current state. */
export interface Target {
  readonly namespace: string
  readonly selector: string
  readonly pods: readonly Pod[]
  readonly specReplicas: number
  readonly statusReplicas: number
  readonly tolerances: Tolerances
  readonly now: number
  /** `<plural>.<group>` of a kind, as custom metrics name it. */
  readonly pluralOf: (apiVersion: string, kind: string) => string
}

export interface Proposal {
  readonly replicas: number
  /** The name of the metric in Events and conditions. */
  readonly name: string
  readonly status: MetricStatus
}

/** A metric without a usable value: the reason for the Event and the condition. */
export class MetricFailure extends Error {
  override readonly name = "MetricFailure"
  readonly reason: string
  /** The message of the condition; `message` is that of the Event about all metrics. */
  override readonly cause: Error

  constructor(reason: string, about: string, cause: unknown) {
    const error = cause instanceof Error ? cause : new Error(String(cause))
    super(`${about}: ${error.message}`)
    this.reason = reason
    this.cause = error
  }
}

/**
 * Computes how many replicas one metric needs. @throws MetricFailure when it has no usable value. Source:
 * computeReplicasForMetric in pkg/controller/podautoscaler/horizontal.go.
 */
export async function proposalOf(metric: MetricSpec, target: Target, client: MetricsClient): Promise<Proposal> {
  const { object, pods, resource, containerResource, external } = metric
  if (metric.type === "Resource" && resource !== undefined)
    return failing("FailedGetResourceMetric", `failed to get ${resource.name} resource metric value`, async () => {
      const { current, ...found } = await resourceProposal(resource, undefined, target, client)
      return { ...found, status: { type: "Resource", resource: { name: resource.name, current } } }
    })
  if (metric.type === "ContainerResource" && containerResource !== undefined) {
    const { name, container } = containerResource
    const about = `failed to get ${container} container metric value`
    return failing("FailedGetContainerResourceMetric", about, async () => {
      const { current, ...found } = await resourceProposal(containerResource, container, target, client)
      return { ...found, status: { type: "ContainerResource", containerResource: { name, container, current } } }
    })
  }
  if (metric.type === "Pods" && pods !== undefined)
    return failing("FailedGetPodsMetric", "failed to get pods metric value", () => podsProposal(pods, target, client))
  if (metric.type === "Object" && object !== undefined)
    return failing("FailedGetObjectMetric", "failed to get object metric value", () =>
      objectProposal(object, target, client),
    )
  if (metric.type === "External" && external !== undefined)
    return failing("FailedGetExternalMetric", `failed to get ${external.metric.name} external metric value`, () =>
      externalProposal(external, target, client),
    )
  throw new MetricFailure(
    "InvalidMetricSourceType",
    "unknown metric",
    new Error(`unknown metric source type ${JSON.stringify(metric.type)}`),
  )
}

async function failing(reason: string, about: string, work: () => Promise<Proposal>): Promise<Proposal> {
  try {
    return await work()
  } catch (err) {
    throw new MetricFailure(reason, about, err)
  }
}

async function resourceProposal(
  { name, target: wanted }: { readonly name: string; readonly target: MetricTarget },
  container: string | undefined,
  target: Target,
  client: MetricsClient,
) {
  const { namespace, selector } = target
  const format: QuantityFormat = name === "memory" ? "BinarySI" : "DecimalSI"
  const question = async (): Promise<PodsQuestion> => {
    try {
      return questionOf(target, await client.resource(namespace, selector, name, container), name)
    } catch (err) {
      throw new Error(`unable to get metrics for resource ${name}: ${errorMessage(err)}`, { cause: err })
    }
  }
  if (wanted.averageValue !== undefined) {
    const { replicas, average } = await about(`failed to get ${name} usage`, async () =>
      replicasForAverage(await question(), milliOf(wanted.averageValue!)),
    )
    return { replicas, name: `${name} resource`, current: { averageValue: milliQuantity(average, format) } }
  }
  const { averageUtilization } = wanted
  if (averageUtilization === undefined)
    throw new Error(
      "invalid resource metric source: neither an average utilization target nor an average value (usage) target was set",
    )
  const { replicas, average, utilization } = await about(`failed to get ${name} utilization`, async () =>
    replicasForUtilization(await question(), averageUtilization, container),
  )
  return {
    replicas,
    name: `${name} ${container === undefined ? "" : "container "}resource utilization (percentage of request)`,
    current: { averageUtilization: utilization!, averageValue: milliQuantity(average, format) },
  }
}

async function podsProposal(
  { metric, target: wanted }: NonNullable<MetricSpec["pods"]>,
  target: Target,
  client: MetricsClient,
): Promise<Proposal> {
  const { namespace, selector } = target
  const metrics = await about(`unable to get metric ${metric.name}`, () =>
    client.pods(namespace, selector, metric.name, selectorText(metric.selector)),
  )
  const { replicas, average } = replicasForAverage(questionOf(target, metrics, ""), milliOf(wanted.averageValue ?? "0"))
  const current = { averageValue: milliQuantity(average) }
  return { replicas, name: `pods metric ${metric.name}`, status: { type: "Pods", pods: { metric, current } } }
}

async function objectProposal(
  { metric, describedObject, target: wanted }: NonNullable<MetricSpec["object"]>,
  target: Target,
  client: MetricsClient,
): Promise<Proposal> {
  const { kind, name, apiVersion = "" } = describedObject
  const ask = () =>
    about(`unable to get metric ${metric.name}: ${kind} on ${target.namespace} ${name}`, () =>
      client.object(
        target.namespace,
        describedObject,
        target.pluralOf(apiVersion, kind),
        metric.name,
        selectorText(metric.selector),
      ),
    )
  const statusOf = (current: object): MetricStatus => ({ type: "Object", object: { describedObject, metric, current } })
  if (wanted.type === "Value" && wanted.value !== undefined) {
    const used = await ask()
    return {
      replicas: replicasForValue(used, milliOf(wanted.value), { ...target, currentReplicas: target.specReplicas }),
      name: `${kind} metric ${metric.name}`,
      status: statusOf({ value: milliQuantity(used) }),
    }
  }
  if (wanted.type === "AverageValue" && wanted.averageValue !== undefined) {
    const { replicas, average } = await about(`failed to get ${metric.name} object metric`, async () =>
      replicasForShare(await ask(), milliOf(wanted.averageValue!), {
        ...target,
        currentReplicas: target.statusReplicas,
      }),
    )
    const status = statusOf({ averageValue: milliQuantity(average) })
    return { replicas, name: `external metric ${metric.name}(${selectorOrNil(metric.selector)})`, status }
  }
  throw new Error("invalid object metric source: neither a value target nor an average value target was set")
}

async function externalProposal(
  { metric, target: wanted }: NonNullable<MetricSpec["external"]>,
  target: Target,
  client: MetricsClient,
): Promise<Proposal> {
  const { namespace } = target
  const shown = selectorOrNil(metric.selector)
  const used = () =>
    about(`unable to get external metric ${namespace}/${metric.name}/${shown}`, async () =>
      (await client.external(namespace, metric.name, selectorText(metric.selector))).reduce((sum, one) => sum + one, 0),
    )
  const name = `external metric ${metric.name}(${shown})`
  if (wanted.averageValue !== undefined) {
    const { replicas, average } = await about(`failed to get ${metric.name} external metric`, async () =>
      replicasForShare(await used(), milliOf(wanted.averageValue!), {
        ...target,
        currentReplicas: target.statusReplicas,
      }),
    )
    const current = { averageValue: milliQuantity(average) }
    return { replicas, name, status: { type: "External", external: { metric, current } } }
  }
  if (wanted.value !== undefined)
    return about(`failed to get external metric ${metric.name}`, async () => {
      const value = await used()
      const current = { value: milliQuantity(value) }
      return {
        replicas: replicasForValue(value, milliOf(wanted.value!), { ...target, currentReplicas: target.specReplicas }),
        name,
        status: { type: "External", external: { metric, current } },
      }
    })
  throw new Error("invalid external metric source: neither a value target nor an average value target was set")
}

const questionOf = (
  { pods, specReplicas, tolerances, now }: Target,
  metrics: PodsQuestion["metrics"],
  resource: string,
): PodsQuestion => ({ pods, metrics, currentReplicas: specReplicas, tolerances, resource, now })

/** Puts the failed action before the message of the error. */
async function about<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (err) {
    throw new Error(`${doing}: ${errorMessage(err)}`, { cause: err })
  }
}

const milliQuantity = (milli: number, format: QuantityFormat = "DecimalSI"): string =>
  formatQuantity({ nano: BigInt(Math.min(milli, MOST)) * 1_000_000n, format })

/** Source: the sums of external metrics end at Go's largest int64. */
const MOST = Number(2n ** 63n - 1024n)

const selectorText = (selector: LabelSelector | undefined): string =>
  selector === undefined ? "" : fromLabelSelector(selector).toString()

/**
 * Returns the text that the Go type prints. Source: LabelSelector.String in apimachinery
 * pkg/apis/meta/v1/generated.pb.go.
 */
function selectorOrNil(selector: LabelSelector | undefined): string {
  if (selector === undefined) return "nil"
  const labels = Object.entries(selector.matchLabels ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}: ${value},`)
  const expressions = (selector.matchExpressions ?? []).map(
    ({ key, operator, values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(" ")}],},`,
  )
  return (
    `&LabelSelector{MatchLabels:map[string]string{${labels.join("")}},` +
    `MatchExpressions:[]LabelSelectorRequirement{${expressions.join("")}},}`
  )
}

import { conflict } from "../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
import type { HorizontalPodAutoscaler } from "../../../pkg/api/autoscaling/v2/horizontalpodautoscaler.ts"
import type { HPAScalingRules, MetricSpec } from "../../../pkg/api/autoscaling/v2/metrics.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ReplicationController } from "../../../pkg/api/core/v1/replicationcontroller.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { silent } from "../../../pkg/log/log.ts"
import { horizontalPodAutoscaler } from "./horizontalpodautoscaler.ts"
import type { MetricsClient, PodMetrics } from "./replicas/metrics-client.ts"

const NOW = Date.parse("2026-01-01T01:00:00Z")
const LONG_AGO = "2026-01-01T00:00:00Z"
const NAMESPACE = "default"

/** What an autoscaler finds at a reconciliation, and the metrics that it reads. */
export interface Given {
  /** The workload's replicas; those that are counted are as many, unless told. */
  readonly replicas: number
  readonly counted?: number
  /** `least` may be left out. */
  readonly least?: number
  readonly most: number
  readonly metrics: readonly MetricSpec[]
  readonly up?: Partial<HPAScalingRules>
  readonly down?: Partial<HPAScalingRules>
  /** How each pod is: `up`, `new` (started a moment ago), `unready`, `pending`, `failed`, `deleted`. */
  readonly pods?: string
  /** CPU that the first pods use, in thousandths. */
  readonly cpu?: readonly number[]
  /** The values of the other metrics, in thousandths. */
  readonly says?: readonly number[]
  /** CPU that each pod requests, in thousandths; 0 for none. */
  readonly requests?: readonly number[]
  readonly kind?: "Deployment" | "ReplicaSet" | "ReplicationController"
  /** The workload's selector; undefined for its own. */
  readonly selector?: string
  /** Labels of the pods beside their own. */
  readonly labels?: Readonly<Record<string, string>>
  /** The request that fails with "something went wrong"; `conflict`: the first write of the scale fails with Conflict. */
  readonly fails?: "metrics" | "external" | "get scale" | "update scale" | "conflict"
  /** How often it looks, six minutes apart; once unless told. */
  readonly looks?: number
  /** Conditions that it has before. */
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[]
  /** Whether the feature HPAScaleToZero is on. */
  readonly toZero?: true
  /** Another autoscaler looks first, at a workload with this selector. */
  readonly other?: string
}

export interface Seen {
  /** The workload's replicas in the end. */
  readonly replicas: number
  /** `type=status reason` of each condition. */
  readonly conditions: readonly string[]
  /** `reason: message` of each Event. */
  readonly events: readonly string[]
  readonly status: HorizontalPodAutoscaler["status"]
}

/** Reconciles an autoscaler once. */
export async function check(given: Given): Promise<Seen> {
  const { replicas, kind = "Deployment", fails } = given
  const pods = podsOf(given)
  const state = { replicas, time: 0, conflicts: fails === "conflict" ? 1 : 0 }
  const events: string[] = []
  const autoscalers = new Map([["default/web", autoscalerOf("web", given)]])
  if (given.other !== undefined) autoscalers.set("default/other", autoscalerOf("other", given))
  const wrong = () => Promise.reject(new Error("something went wrong"))
  const context = {
    clock: { now: () => NOW, monotonic: () => state.time },
    log: silent,
    events: {
      event: (_: unknown, __: string, reason: string, message: string) => events.push(`${reason}: ${message}`),
    },
    informers: {
      of: (resource: Resource) =>
        resource.kind === "Pod"
          ? { list: () => pods }
          : { get: (key: string) => autoscalers.get(key), list: () => [...autoscalers.values()] },
    },
    client: {
      getSubresource: (_: Resource, { name }: { name: string }) =>
        fails === "get scale"
          ? wrong()
          : Promise.resolve({
              metadata: { name, namespace: NAMESPACE },
              spec: { replicas: state.replicas },
              status: {
                replicas: given.counted ?? state.replicas,
                selector: name === "other" ? given.other : (given.selector ?? "app=web"),
              },
            }),
      updateSubresource(
        resource: Resource,
        { name }: { name: string },
        _: string,
        scale: { spec: { replicas: number } },
      ) {
        if (fails === "update scale") return wrong()
        if (state.conflicts-- > 0) return Promise.reject(conflict(resource, "web", "it has changed"))
        if (name === "web") state.replicas = scale.spec.replicas
        return Promise.resolve(scale)
      },
      updateStatus(_: Resource, written: HorizontalPodAutoscaler) {
        autoscalers.set(`default/${written.metadata.name}`, written)
        return Promise.resolve(written)
      },
    },
  } as unknown as ReconcileContext

  const resources = [Deployment, ReplicaSet, ReplicationController].filter((one) => one.kind === kind)
  const controller = horizontalPodAutoscaler({
    metrics: metricsOf(given, pods.length),
    resources: () => [...resources, Deployment],
    syncPeriodMs: 15_000,
    scalesToZero: given.toZero === true,
  })
  if (given.other !== undefined) await controller.reconcile("default/other", context)
  events.length = 0
  for (let count = 0; count < (given.looks ?? 1); count++) {
    await controller.reconcile("default/web", context)
    state.time += 360_000
  }
  const { status } = autoscalers.get("default/web")!
  return {
    replicas: state.replicas,
    conditions: (status.conditions ?? []).map((one) => `${one.type}=${one.status} ${one.reason}`),
    events,
    status,
  }
}

function autoscalerOf(name: string, { least, most, metrics, up, down, kind = "Deployment", ...given }: Given) {
  const apiVersion = kind === "ReplicationController" ? "v1" : "apps/v1"
  const behavior =
    up === undefined && down === undefined
      ? {}
      : { behavior: { scaleUp: { ...USUAL_UP, ...up }, scaleDown: { ...USUAL_DOWN, ...down } } }
  return {
    metadata: { name, namespace: NAMESPACE },
    spec: {
      scaleTargetRef: { apiVersion, kind, name },
      ...(least === undefined ? {} : { minReplicas: least }),
      maxReplicas: most,
      metrics,
      ...behavior,
    },
    status: { conditions: given.conditions ?? [] },
  } as unknown as HorizontalPodAutoscaler
}

/** Adds the API's defaults to a behaviour. */
const USUAL_UP = {
  stabilizationWindowSeconds: 0,
  selectPolicy: "Max",
  policies: [
    { type: "Pods", value: 4, periodSeconds: 15 },
    { type: "Percent", value: 100, periodSeconds: 15 },
  ],
}
const USUAL_DOWN = { selectPolicy: "Max", policies: [{ type: "Percent", value: 100, periodSeconds: 15 }] }

function podsOf({ pods: text, replicas, requests, labels = {} }: Given): readonly Pod[] {
  const states = text === undefined ? Array.from({ length: replicas }, () => "up") : text.split(" ").filter(Boolean)
  return states.map((state, index) => {
    const startTime = state === "new" ? new Date(NOW - 10_000).toISOString() : LONG_AGO
    const request = requests?.[index] ?? 1000
    const resources = request === 0 ? {} : { requests: { cpu: `${request}m` } }
    return {
      metadata: {
        name: `p${index}`,
        labels: { app: "web", ...labels },
        ...(state === "deleted" ? { deletionTimestamp: LONG_AGO } : {}),
      },
      spec: { containers: [{ name: "main", resources }] },
      status: {
        phase: state === "pending" ? "Pending" : state === "failed" ? "Failed" : "Running",
        startTime,
        conditions: [{ type: "Ready", status: state === "unready" ? "False" : "True", lastTransitionTime: startTime }],
      },
    } as unknown as Pod
  })
}

function metricsOf({ cpu = [], says = [], fails }: Given, count: number): MetricsClient {
  const wrong = () => new Error("something went wrong")
  const ofPods = (values: readonly number[], api: string): PodMetrics => {
    if (fails === "metrics") throw wrong()
    if (values.length === 0) throw new Error(`no metrics returned from ${api} metrics API`)
    return new Map(values.map((value, index) => [`p${index}`, { value, timestamp: NOW, windowMs: 60_000 }]))
  }
  return {
    resource: async () => ofPods(cpu, "resource"),
    pods: async () => ofPods(says.slice(0, count), "custom"),
    object: async () => ofPods(says, "custom").get("p0")!.value,
    external: async () => {
      if (fails === "external") throw wrong()
      return [...ofPods(says, "external").values()].map(({ value }) => value)
    },
  }
}

import { describe, expect, test } from "bun:test"
import {
  Deployment,
  Pod,
  ReplicaSet,
  startCluster,
  StatefulSet,
  TestClusterError,
  type FeatureName,
} from "./testing.ts"
import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import type { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { HorizontalPodAutoscaler } from "../../../pkg/api/autoscaling/v2/horizontalpodautoscaler.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { web } from "./cluster.fixtures.ts"

const CONTAINER = { name: "c", image: "web" }
const labels = { app: "web" }
const deployment = (spec: object) => ({
  metadata: { name: "web", namespace: "default" },
  spec: {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [CONTAINER], ...spec } },
  },
})
const RULES = [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }]

describe("a feature that is off", () => {
  const fields: readonly [feature: FeatureName, spec: object, without: object][] = [
    ["HostnameOverride", { hostnameOverride: "db" }, {}],
    ["PodLevelResources", { resources: { requests: { cpu: "1" } } }, {}],
    [
      "ContainerRestartRules",
      {
        containers: [{ ...CONTAINER, restartPolicy: "Never", restartPolicyRules: RULES }],
        initContainers: [{ ...CONTAINER, name: "i", restartPolicy: "Always" }],
      },
      { initContainers: [{ name: "i", restartPolicy: "Always" }] },
    ],
  ]
  test.each(fields)("%s: pods and templates have no such fields", async (feature, spec, without) => {
    const made = async (on: boolean) => {
      await using cluster = await startCluster({
        features: { [feature]: on },
        admission: { disabled: ["ServiceAccount"] },
        components: { controllers: false },
      })
      const pod = await cluster.client.create(Pod, {
        metadata: { name: "p", namespace: "default" },
        spec: { containers: [CONTAINER], ...spec },
      })
      const {
        spec: { template },
      } = await cluster.client.create(Deployment, deployment(spec))
      return [pod.spec, template.spec]
    }
    // when it is on, then they have
    for (const given of await made(true)) expect(given).toMatchObject(spec)
    // when it is off
    for (const left of await made(false)) {
      // then they have not, and all else
      expect(left).toMatchObject({ containers: [CONTAINER], ...without })
      const [container] = left.containers
      expect([left.hostnameOverride, left.resources, container?.restartPolicy, container?.restartPolicyRules]).toEqual([
        undefined,
        undefined,
        undefined,
        undefined,
      ])
    }
  })

  test("EnvFiles: a variable from a file is treated as one without a source", async () => {
    await using cluster = await startCluster({
      features: { EnvFiles: false },
      admission: { disabled: ["ServiceAccount"] },
    })
    const spec = {
      volumes: [{ name: "v", emptyDir: {} }],
      containers: [
        { ...CONTAINER, env: [{ name: "A", valueFrom: { fileKeyRef: { volumeName: "v", path: "env", key: "A" } } }] },
      ],
    }
    const err = await cluster.client.create(Pod, { metadata: { name: "p", namespace: "default" }, spec }).then(
      () => undefined,
      (failure: Error) => failure,
    )
    expect(err?.message).toContain("spec.containers[0].env[0].valueFrom")
  })

  test("MaxUnavailableStatefulSet: pods are replaced one at a time", async () => {
    // given a StatefulSet that would have two replaced at once
    await using cluster = await startCluster({ nodes: 1, features: { MaxUnavailableStatefulSet: false } })
    await cluster.client.create(StatefulSet, {
      metadata: { name: "db", namespace: "default" },
      spec: {
        replicas: 3,
        podManagementPolicy: "Parallel",
        updateStrategy: { rollingUpdate: { maxUnavailable: 2 } },
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [CONTAINER] } },
      },
    })
    await cluster.settle()
    const after = cluster.history().at(-1)!.revision
    // when
    await cluster.client.patch(
      StatefulSet,
      { name: "db", namespace: "default" },
      { type: "strategic", body: { spec: { template: { spec: { containers: [{ ...CONTAINER, image: "web:2" }] } } } } },
    )
    await cluster.settle()
    // then
    const told = cluster
      .history({ kind: "Pod", after })
      .flatMap(({ type, object }) => (type === "update" ? [] : [`${type} ${object.metadata.name}`]))
    expect(told).toEqual(["delete db-2", "create db-2", "delete db-1", "create db-1", "delete db-0", "create db-0"])
  })

  test.each([
    [true, ["cheap"]],
    [false, ["dear"]],
  ] as const)(
    "PodDeletionCost %p: the pod with the lower cost, or else the newer one, is deleted",
    async (on, gone) => {
      // given two pods, of which the newer one costs more to delete
      await using cluster = await startCluster({ nodes: 2, features: { PodDeletionCost: on } })
      await cluster.apply(web(1))
      const cost = async (pod: Pod, cost: string) =>
        cluster.client.patch(Pod, pod.metadata, {
          type: "merge",
          body: { metadata: { annotations: { "controller.kubernetes.io/pod-deletion-cost": cost } } },
        })
      const [old] = await cluster.list(Pod)
      await cost(old!, "-10")
      await cluster.advance("1d")
      await cluster.apply(web(2))
      await cost(
        (await cluster.list(Pod)).find(({ metadata }) => metadata.name !== old!.metadata.name)!,
        "10",
      )
      // when one is too many
      await cluster.apply(web(1))
      // then
      const [left] = await cluster.list(Pod)
      expect([left!.metadata.name === old!.metadata.name ? "dear" : "cheap"]).toEqual([...gone])
    },
  )

  test("DeploymentReplicaSetTerminatingReplicas: nobody can write how many pods are ending", async () => {
    // given
    const features = { DeploymentReplicaSetTerminatingReplicas: false }
    await using cluster = await startCluster({ nodes: 1, features })
    await cluster.apply(web(2))
    await cluster.apply(web(1))
    const written = async <T extends Deployment | ReplicaSet>(resource: Resource<T>) => {
      const body = { status: { terminatingReplicas: 1 } }
      const [found] = await cluster.list(resource)
      return cluster.client.patch(resource, found!.metadata, { type: "merge", body }, { subresource: "status" })
    }
    for (const write of [() => written(Deployment), () => written(ReplicaSet)]) {
      // when
      const { status } = await write()
      // then
      expect(status.replicas).toBe(1)
      expect(status.terminatingReplicas).toBeUndefined()
    }
  })

  test("DeploymentReplicaSetTerminatingReplicas: a Deployment without counts fails at its deadline", async () => {
    // given a Deployment whose ReplicaSet nobody reconciles
    const features = { DeploymentReplicaSetTerminatingReplicas: false }
    const components = { controllers: { disabled: ["replicaset-controller"] } }
    await using cluster = await startCluster({ nodes: 1, features, components })
    const stuck = web(1)
    await cluster.apply({ ...stuck, spec: { ...stuck.spec, progressDeadlineSeconds: 10 } })
    // when
    await cluster.advance("1m")
    // then
    const [{ status }] = (await cluster.list(Deployment)) as [Deployment]
    expect(status).not.toHaveProperty("terminatingReplicas")
    expect(status.conditions?.find(({ type }) => type === "Progressing")?.reason).toBe("ProgressDeadlineExceeded")
  })

  test("WatchList: a watch with sendInitialEvents is refused", async () => {
    await using cluster = await startCluster({ features: { WatchList: false } })
    const watch = () =>
      cluster.client.watch(
        Pod,
        { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan", allowWatchBookmarks: true },
        { onEvent() {}, onEnd: (error) => ended.resolve(error) },
      )
    const ended = Promise.withResolvers<Error | undefined>()
    let refused: unknown
    try {
      watch()
      refused = await ended.promise
    } catch (err) {
      refused = err
    }
    expect((refused as Error).message).toContain(
      "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
    )
  })
})

test.each([
  { on: true, wants: 8 },
  { on: false, wants: 5 },
])(
  "ReduceDefaultCrashLoopBackOffDecay: a container that crashes is started again sooner: $on",
  async ({ on, wants }) => {
    await using cluster = await startCluster({
      features: { ReduceDefaultCrashLoopBackOffDecay: on },
      nodes: 1,
      images: { web: { run: async () => 1 } },
    })
    await cluster.client.create(Pod, {
      metadata: { name: "p", namespace: "default" },
      spec: { containers: [CONTAINER] },
    })
    // when three minutes have passed: after the first crash at once, then after 1, 2, 4 … or after 10, 20, 40 … seconds
    await cluster.advance("3m")
    const { status } = await cluster.client.get(Pod, { namespace: "default", name: "p" })
    expect(status.containerStatuses?.[0]?.restartCount).toBe(wants)
  },
)

test.each([
  { on: true, code: undefined },
  { on: false, code: 422 },
])(
  "MutablePVNodeAffinity: the nodeAffinity of a volume can be changed only where it is on: $on",
  async ({ on, code }) => {
    await using cluster = await startCluster({
      features: { MutablePVNodeAffinity: on },
      components: { controllers: false, scheduler: false },
    })
    const volume = (zone: string) =>
      ({
        metadata: { name: "v" },
        spec: {
          capacity: { storage: "1Gi" },
          accessModes: ["ReadWriteOnce"],
          hostPath: { path: "/v" },
          nodeAffinity: {
            required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: [zone] }] }] },
          },
        },
      }) as never
    await cluster.client.create(PersistentVolume, volume("a"))
    const outcome = await cluster.client.update(PersistentVolume, volume("b")).then(
      () => undefined,
      (err: unknown) => (err as ApiError).code,
    )
    expect(outcome).toBe(code)
  },
)

test.each([
  { on: true, wants: "ScaledToZero" },
  { on: false, wants: "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1" },
])("HPAScaleToZero: an autoscaler with minReplicas 0 is taken only where it is on: $on", async ({ on, wants }) => {
  await using cluster = await startCluster({
    features: { HPAScaleToZero: on },
    components: { controllers: false, scheduler: false },
  })
  const metric = { type: "External", external: { metric: { name: "qps" }, target: { type: "Value", value: "2" } } }
  const made = cluster.client.create(HorizontalPodAutoscaler, {
    metadata: { name: "web", namespace: "default" },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      minReplicas: 0,
      maxReplicas: 3,
      metrics: [metric],
    },
  } as never)
  const said = await made.then(
    ({ spec }) => (spec.minReplicas === 0 ? "ScaledToZero" : ""),
    (err: unknown) => (err as Error).message,
  )
  expect(said).toContain(wants)
})

test.each([
  [{ Nonsense: true }, 'unknown feature gate "Nonsense": the feature gates are ClusterTrustBundle, '],
  [{ WatchList: "no" }, 'feature gate WatchList cannot be "no": expected true or false'],
])("unknown features %j are refused", async (features, message) => {
  const err = await startCluster({ features: features as Record<string, boolean> }).then(
    () => undefined,
    (failure: Error) => failure,
  )
  expect(err).toBeInstanceOf(TestClusterError)
  expect(err!.message).toContain(message)
  expect(err!.stack).toContain("features.test.ts")
})

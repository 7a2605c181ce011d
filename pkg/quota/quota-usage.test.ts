import { describe, expect, test } from "bun:test"
import { Pod } from "../api/core/v1/pod/pod.ts"
import { DeviceClass } from "../api/resource/v1/deviceclass.ts"
import { ResourceClaim } from "../api/resource/v1/resourceclaim.ts"
import { decodeObject } from "../apimachinery/decoding/decode.ts"
import { formatQuantity } from "../apimachinery/scalars/quantity.ts"
import { firstClaims } from "./first-claims.ts"
import type { QuotaObjects, Usage } from "./quota-objects.ts"
import { usageOf } from "./quota-usage.ts"

const NOW = Date.parse("2026-02-01T00:00:00Z")
const NOTHING: QuotaObjects = {
  now: () => NOW,
  deviceClass: () => undefined,
  pod: () => undefined,
  firstClaimOf: () => undefined,
}
const texts = (usage: Usage) =>
  Object.fromEntries(Object.entries(usage).map(([name, amount]) => [name, formatQuantity(amount)]))

const container = (requests: object, more: object = {}) => ({ name: "c", image: "i", resources: { requests }, ...more })

describe("a pod is charged to a quota with", () => {
  const rows: readonly {
    readonly title: string
    readonly spec: object
    readonly metadata?: object
    readonly status?: object
    readonly wants: Readonly<Record<string, string>>
  }[] = [
    {
      title: "the sum of its containers and sidecars, if no init container needs more",
      spec: {
        initContainers: [
          container({ cpu: "1" }, { name: "s", restartPolicy: "Always" }),
          container({ cpu: "3" }, { name: "i" }),
        ],
        containers: [container({ cpu: "2" }), container({ cpu: "2" }, { name: "d" })],
      },
      wants: { pods: "1", cpu: "5", "requests.cpu": "5" },
    },
    {
      title: "an init container and the sidecars that run already, if they need more",
      spec: {
        initContainers: [
          container({ cpu: "1" }, { name: "s", restartPolicy: "Always" }),
          container({ cpu: "3" }, { name: "i" }),
          container({ cpu: "1" }, { name: "t", restartPolicy: "Always" }),
        ],
        containers: [container({ cpu: "1" })],
      },
      wants: { pods: "1", cpu: "4", "requests.cpu": "4" },
    },
    {
      title: "its pod-level resources in place of its containers'",
      spec: {
        resources: { requests: { cpu: "4" }, limits: { cpu: "4" } },
        containers: [container({ cpu: "1", memory: "1Gi" })],
      },
      wants: {
        pods: "1",
        cpu: "4",
        "requests.cpu": "4",
        "limits.cpu": "4",
        memory: "1Gi",
        "requests.memory": "1Gi",
      },
    },
    {
      title: "its overhead, which is added to limits only if it has limits",
      spec: {
        overhead: { cpu: "1", memory: "1Gi" },
        containers: [{ ...container({ cpu: "1" }), resources: { requests: { cpu: "1" }, limits: { cpu: "2" } } }],
      },
      wants: {
        pods: "1",
        cpu: "2",
        "requests.cpu": "2",
        "limits.cpu": "3",
        memory: "1Gi",
        "requests.memory": "1Gi",
      },
    },
    {
      title: "extended resources by their requests only",
      spec: {
        containers: [
          {
            ...container({}),
            resources: { limits: { "example.com/gpu": "2", "deviceclass.resource.kubernetes.io/fpga": "1" } },
          },
        ],
      },
      wants: { pods: "1", "requests.example.com/gpu": "2", "requests.deviceclass.resource.kubernetes.io/fpga": "1" },
    },
    {
      title: "the larger amount while a container is being resized",
      spec: { containers: [container({ cpu: "1" })] },
      status: {
        containerStatuses: [{ name: "c", resources: { requests: { cpu: "2" } }, allocatedResources: { cpu: "3" } }],
      },
      wants: { pods: "1", cpu: "3", "requests.cpu": "3" },
    },
    {
      title: "the allocated amount if a resize is infeasible",
      spec: { containers: [container({ cpu: "9" })] },
      status: {
        conditions: [{ type: "PodResizePending", status: "True", reason: "Infeasible" }],
        containerStatuses: [{ name: "c", resources: { requests: { cpu: "2" } } }],
      },
      wants: { pods: "1", cpu: "2", "requests.cpu": "2" },
    },
    {
      title: "nothing but its object count once it has ended",
      spec: { containers: [container({ cpu: "1" })] },
      status: { phase: "Failed" },
      wants: {},
    },
    {
      title: "nothing but its object count once its grace period is over",
      spec: { containers: [container({ cpu: "1" })] },
      metadata: { deletionTimestamp: "2026-01-31T23:59:00Z", deletionGracePeriodSeconds: 30 },
      wants: {},
    },
  ]
  test.each(rows)("$title", ({ spec, metadata, status, wants }) => {
    const pod = decodeObject(Pod, { metadata: { name: "p", namespace: "n", ...metadata }, spec, status }).object
    expect(texts(usageOf(Pod, pod, NOTHING))).toEqual({ "count/pods": "1", ...wants })
  })
})

describe("a ResourceClaim is charged to a quota with", () => {
  const GPU = "example.com/gpu"
  const IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"
  const exactly = (deviceClassName: string, count: number) => ({ deviceClassName, allocationMode: "ExactCount", count })
  const classOf = (name: string, extendedResourceName?: string) =>
    decodeObject(DeviceClass, { metadata: { name }, spec: { extendedResourceName } }).object
  const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u", controller: true }
  const made = {
    annotations: { "resource.kubernetes.io/extended-resource-claim": "true" },
    ownerReferences: [owner],
    creationTimestamp: "2026-01-02T00:00:00Z",
  }
  const claimOf = (name: string, metadata: object, requests: readonly object[]) =>
    decodeObject(ResourceClaim, { metadata: { name, namespace: "n", ...metadata }, spec: { devices: { requests } } })
      .object
  const podOf = (status: object) =>
    decodeObject(Pod, {
      metadata: { name: "p", namespace: "n", uid: "u" },
      spec: { containers: [container({ [GPU]: "1", [IMPLICIT]: "1" })] },
      status,
    }).object

  const rows: readonly {
    readonly title: string
    readonly metadata?: object
    readonly requests: readonly object[]
    readonly pod?: object
    readonly others?: readonly ReturnType<typeof claimOf>[]
    readonly wants: Readonly<Record<string, string>>
  }[] = [
    {
      title: "its devices by class, and by the extended resources of the class",
      requests: [{ name: "r", exactly: exactly("gpu", 3) }],
      wants: {
        "gpu.deviceclass.resource.k8s.io/devices": "3",
        [`requests.${GPU}`]: "3",
        [`requests.${IMPLICIT}`]: "3",
      },
    },
    {
      title: "its devices by class only, if the class names no extended resource",
      requests: [{ name: "r", exactly: exactly("fpga", 1) }],
      wants: { "fpga.deviceclass.resource.k8s.io/devices": "1" },
    },
    {
      title: "the maximum of its alternatives for each class, and 32 devices for all",
      requests: [
        {
          name: "r",
          firstAvailable: [
            { name: "a", ...exactly("fpga", 1) },
            { name: "b", ...exactly("fpga", 3) },
            { name: "c", ...exactly("nic", 2) },
          ],
        },
        { name: "s", exactly: { deviceClassName: "fpga", allocationMode: "All" } },
      ],
      wants: { "fpga.deviceclass.resource.k8s.io/devices": "35", "nic.deviceclass.resource.k8s.io/devices": "2" },
    },
    {
      title: "the devices for which its pod was not charged, if it was created for a pod's extended resources",
      metadata: made,
      requests: [{ name: "r", exactly: exactly("gpu", 3) }],
      pod: { extendedResourceClaimStatus: { resourceClaimName: "mine" } },
      wants: {
        "gpu.deviceclass.resource.k8s.io/devices": "3",
        [`requests.${GPU}`]: "2",
        [`requests.${IMPLICIT}`]: "2",
      },
    },
    {
      title: "the same before the pod's status names the claim",
      metadata: made,
      requests: [{ name: "r", exactly: exactly("gpu", 1) }],
      pod: {},
      others: [claimOf("later", { ...made, creationTimestamp: "2026-01-03T00:00:00Z" }, [])],
      wants: { "gpu.deviceclass.resource.k8s.io/devices": "1" },
    },
    {
      title: "everything, if an older claim was created for the pod",
      metadata: made,
      requests: [{ name: "r", exactly: exactly("gpu", 1) }],
      pod: {},
      others: [claimOf("early", { ...made, creationTimestamp: "2026-01-01T00:00:00Z" }, [])],
      wants: {
        "gpu.deviceclass.resource.k8s.io/devices": "1",
        [`requests.${GPU}`]: "1",
        [`requests.${IMPLICIT}`]: "1",
      },
    },
    {
      title: "everything, if its pod has another claim",
      metadata: made,
      requests: [{ name: "r", exactly: exactly("gpu", 1) }],
      pod: { extendedResourceClaimStatus: { resourceClaimName: "another" } },
      wants: {
        "gpu.deviceclass.resource.k8s.io/devices": "1",
        [`requests.${GPU}`]: "1",
        [`requests.${IMPLICIT}`]: "1",
      },
    },
    {
      title: "everything, if any user could have named the pod as its owner",
      metadata: { ownerReferences: [owner] },
      requests: [{ name: "r", exactly: exactly("gpu", 1) }],
      pod: { extendedResourceClaimStatus: { resourceClaimName: "mine" } },
      wants: {
        "gpu.deviceclass.resource.k8s.io/devices": "1",
        [`requests.${GPU}`]: "1",
        [`requests.${IMPLICIT}`]: "1",
      },
    },
  ]
  test.each(rows)("$title", ({ metadata = {}, requests, pod, others = [], wants }) => {
    const claim = claimOf("mine", metadata, requests)
    const objects: QuotaObjects = {
      now: () => NOW,
      deviceClass: (name) => (name === "gpu" ? classOf("gpu", GPU) : classOf(name)),
      pod: () => (pod === undefined ? undefined : podOf(pod)),
      firstClaimOf: firstClaims({ revision: () => 1, list: () => [claim, ...others] }),
    }
    expect(texts(usageOf(ResourceClaim, claim, objects))).toEqual({
      "count/resourceclaims.resource.k8s.io": "1",
      ...wants,
    })
  })
})

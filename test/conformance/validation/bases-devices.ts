import type { Base } from "./base.ts"

const selectors = [{ cel: { expression: 'device.driver == "d.example.com"' } }]
const opaque = { driver: "d.example.com", parameters: { a: { b: [1] } } }
const tolerations = [
  { key: "example.com/a", operator: "Equal", value: "v", effect: "NoSchedule" },
  { operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 },
]
const exactly = { deviceClassName: "c", selectors, allocationMode: "ExactCount", count: 2 }
const devices = {
  requests: [
    { name: "r", exactly: { ...exactly, tolerations, capacity: { requests: { "d.example.com/memory": "1Gi" } } } },
    {
      name: "s",
      firstAvailable: [
        { name: "a", ...exactly },
        { name: "b", deviceClassName: "c" },
      ],
    },
  ],
  constraints: [{ requests: ["r", "s/a"], matchAttribute: "d.example.com/numa" }],
  config: [{ requests: ["r"], opaque }],
}
const nodeSelector = { nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "In", values: ["b"] }] }] }
const time = "2026-01-01T00:00:00Z"
const pool = { name: "p", generation: 1, resourceSliceCount: 1 }
const driver = "d.example.com"

/** Dynamic resource allocation. */
export const DEVICE_BASES: readonly Base[] = [
  {
    kind: "resource.k8s.io/v1 DeviceClass",
    name: "full",
    body: { spec: { selectors, config: [{ opaque }], extendedResourceName: "example.com/gpu" } },
  },
  { kind: "resource.k8s.io/v1 DeviceClass", name: "minimal", body: { spec: {} } },
  {
    kind: "resource.k8s.io/v1 ResourceClaim",
    name: "minimal",
    body: { spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "c" } }] } } },
  },
  {
    kind: "resource.k8s.io/v1 ResourceClaim",
    name: "full",
    body: { spec: { devices } },
    status: {
      allocation: {
        devices: {
          results: [{ request: "r", driver, pool: "p", device: "d", tolerations, consumedCapacity: { "a.b/c": "1" } }],
          config: [{ source: "FromClass", requests: ["r"], opaque }],
        },
        nodeSelector,
      },
      reservedFor: [{ resource: "pods", name: "p", uid: "u" }],
      devices: [
        {
          driver,
          pool: "p",
          device: "d",
          conditions: [{ type: "Ready", status: "True", reason: "R", message: "m", lastTransitionTime: time }],
          data: { a: 1 },
          networkData: { interfaceName: "e", ips: ["10.0.0.1/24"], hardwareAddress: "00:00:00:00:00:01" },
        },
      ],
    },
  },
  {
    kind: "resource.k8s.io/v1 ResourceClaim",
    name: "not allocated",
    body: {
      spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "c", allocationMode: "All" } }] } },
    },
    status: {},
  },
  {
    kind: "resource.k8s.io/v1 ResourceClaimTemplate",
    name: "full",
    body: { spec: { metadata: { labels: { a: "b" }, annotations: { c: "d" } }, spec: { devices } } },
  },
  {
    kind: "resource.k8s.io/v1 ResourceSlice",
    name: "of a node",
    body: {
      spec: {
        driver,
        pool,
        nodeName: "n",
        devices: [
          {
            name: "d",
            attributes: {
              a: { string: "x" },
              "e.example.com/b": { version: "1.2.3" },
              c: { int: 1 },
              e: { bool: true },
            },
            capacity: { memory: { value: "1Gi" } },
            taints: [{ key: "example.com/t", value: "v", effect: "NoSchedule", timeAdded: time }],
            bindingConditions: ["example.com/ready"],
            bindingFailureConditions: ["example.com/failed"],
            bindsToNode: true,
          },
          {
            name: "shared",
            allowMultipleAllocations: true,
            capacity: {
              a: { value: "8", requestPolicy: { default: "2", validRange: { min: "1", max: "8", step: "1" } } },
              b: { value: "8", requestPolicy: { default: "2", validValues: ["1", "2", "4"] } },
            },
            consumesCounters: [{ counterSet: "s", counters: { c: { value: "1" } } }],
          },
        ],
      },
    },
  },
  {
    kind: "resource.k8s.io/v1 ResourceSlice",
    name: "of several nodes",
    body: { spec: { driver, pool: { ...pool, name: "a/b" }, nodeSelector, devices: [{ name: "d" }] } },
  },
  {
    kind: "resource.k8s.io/v1 ResourceSlice",
    name: "of devices of several nodes",
    body: {
      spec: {
        driver,
        pool,
        perDeviceNodeSelection: true,
        devices: [
          { name: "d", nodeName: "n" },
          { name: "e", nodeSelector },
          { name: "f", allNodes: true },
        ],
      },
    },
  },
  {
    kind: "resource.k8s.io/v1 ResourceSlice",
    name: "of counters",
    body: { spec: { driver, pool, allNodes: true, sharedCounters: [{ name: "s", counters: { c: { value: "4" } } }] } },
  },
]

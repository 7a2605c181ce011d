import { pod, type Situation } from "./situation.fixtures.ts"

/** A class of devices, and a template of claims for it; `more` are further fields of the request. */
const wanting = (more = ""): string => `
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus}
spec: {spec: {devices: {requests: [{name: one, exactly: {deviceClassName: gpu.example.com${more}}}]}}}
`
const published = (driver = "gpu.example.com"): string => `
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-0-gpu}
spec:
  driver: ${driver}
  nodeName: node-0
  pool: {name: node-0, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0, attributes: {model: {string: a100}}}]
`
const USES = `{containers: [{name: c, image: "app:1", resources: {claims: [{name: gpu}]}}], resourceClaims: [{name: gpu, resourceClaimTemplateName: gpus}]}`
const selecting = (expression: string): string => wanting(`, selectors: [{cel: {expression: '${expression}'}}]`)
const limited = (name: string): string =>
  pod(name, `{containers: [{name: c, image: "app:1", resources: {limits: {nvidia.com/gpu: 1}}}]}`)

export const DEVICES: readonly Situation[] = [
  {
    title: "a claim of devices that no driver has published",
    yaml: wanting() + pod("train", USES),
    ask: "pod/train",
    cause: "devices-missing",
    says: /request one of ResourceClaim default\/train-gpu-\w+ wants 1 of DeviceClass gpu\.example\.com, and there are none/,
  },
  {
    title: "a DeviceClass that fits none of the devices",
    yaml: wanting() + published("fpga.example.com") + pod("train", USES),
    ask: "pod/train",
    cause: "device-class-without-devices",
    says: /DeviceClass gpu\.example\.com, whose selectors fit none of the 1 devices \(of fpga\.example\.com\)/,
  },
  {
    title: "a claim whose selector fits none of the devices",
    yaml: selecting('device.attributes["gpu.example.com"].model == "h100"') + published() + pod("train", USES),
    ask: "pod/train",
    cause: "device-selector-fits-none",
    says: /none of the 1 devices of DeviceClass gpu\.example\.com is what request one .* selects: device\.attributes\["gpu\.example\.com"\]\.model == "h100"/,
  },
  {
    title: "a claim whose selector asks for what the devices do not have",
    yaml: selecting('device.attributes["gpu.example.com"].size > 3') + published() + pod("train", USES),
    ask: "pod/train",
    cause: "device-selector-fails",
    says: /a selector of request one .* fails: .*no such key: size/,
  },
  {
    title: "a claim of a device that another pod has",
    yaml: wanting() + published() + pod("first", USES),
    breaks: (cluster) => cluster.apply(pod("train", USES)),
    ask: "pod/train",
    cause: "devices-taken",
    says: /those that fit are taken, by ResourceClaim default\/first-gpu-\w+ \(used by pods first\)/,
  },
  {
    title: "a claim of more devices than a node has",
    yaml: wanting(", count: 2") + published() + pod("train", USES),
    ask: "pod/train",
    cause: "devices-too-few",
    says: /wants 2 of DeviceClass gpu\.example\.com on a node, and no node has more than 1 that fit/,
  },
  {
    title: "a GPU that another pod has",
    yaml: "",
    breaks: async (cluster) => {
      const status = JSON.stringify({
        status: { capacity: { "nvidia.com/gpu": "1" }, allocatable: { "nvidia.com/gpu": "1" } },
      })
      await cluster.kubectl(["patch", "node", "node-0", "--subresource=status", "--type=merge", "-p", status])
      await cluster.apply(limited("first"))
      await cluster.advance("10s")
      await cluster.apply(limited("train"))
    },
    ask: "pod/train",
    cause: "insufficient-nvidia.com/gpu",
    says: /nearest is node-0, which needs 1 nvidia\.com\/gpu, 0 of 1 free; ending pod default\/first frees enough/,
  },
]

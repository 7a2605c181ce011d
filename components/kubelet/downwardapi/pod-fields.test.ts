import { describe, expect, test } from "bun:test"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { formatMap, podField } from "./pod-fields.ts"
import { resourceField } from "./resource-fields.ts"

const pod = decodeObject(Pod, {
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: "web-0",
    namespace: "shop",
    uid: "u-1",
    labels: { app: "web", "a/b": "c" },
    annotations: { note: 'say "hi"\n\ttwice' },
  },
  spec: {
    nodeName: "node-0",
    serviceAccountName: "clerk",
    containers: [
      {
        name: "main",
        image: "x",
        resources: { requests: { cpu: "250m", memory: "64Mi" }, limits: { cpu: "1500m", memory: "128Mi" } },
      },
      { name: "free", image: "x" },
    ],
  },
}).object

describe("fields of a pod", () => {
  const addresses = { podIps: ["10.42.0.7", "fd00::7"], hostIps: ["192.0.2.1", "fd00::1"] }

  test.each([
    ["metadata.name", "web-0"],
    ["metadata.namespace", "shop"],
    ["metadata.uid", "u-1"],
    ["metadata.labels", 'a/b="c"\napp="web"'],
    ["metadata.annotations", 'note="say \\"hi\\"\\n\\ttwice"'],
    ["metadata.labels['app']", "web"],
    ["metadata.labels['a/b']", "c"],
    ["metadata.annotations['note']", 'say "hi"\n\ttwice'],
    ["metadata.annotations['none']", ""],
    ["spec.nodeName", "node-0"],
    ["spec.serviceAccountName", "clerk"],
    ["status.podIP", "10.42.0.7"],
    ["status.podIPs", "10.42.0.7,fd00::7"],
    ["status.hostIP", "192.0.2.1"],
    ["status.hostIPs", "192.0.2.1,fd00::1"],
  ])("%s is %p", (path, expected) => {
    expect(podField(pod, path, addresses)).toBe(expected)
  })

  test("refuse an unsupported path", () => {
    expect(() => podField(pod, "spec.volumes", addresses)).toThrow("unsupported fieldPath: spec.volumes")
  })

  test("format maps sorted, with values quoted as Go does", () => {
    expect(formatMap({ b: "ü 日", a: "back\\slash\u0001\u200b" })).toBe('a="back\\\\slash\\x01\\u200b"\nb="ü 日"')
  })
})

describe("requests and limits", () => {
  const node = { cpu: "4", memory: "1073741824" }

  test.each([
    ["main", "limits.cpu", "0", "2"],
    ["main", "limits.cpu", "1m", "1500"],
    ["main", "requests.cpu", "1m", "250"],
    ["main", "requests.cpu", "1", "1"],
    ["main", "limits.memory", "1Mi", "128"],
    ["main", "requests.memory", "0", "67108864"],
    ["main", "requests.memory", "1G", "1"],
    // without a limit the whole node may be used
    ["free", "limits.cpu", "1", "4"],
    ["free", "limits.memory", "1Mi", "1024"],
    ["free", "requests.memory", "1", "0"],
  ])("of %s: %s in units of %s is %s", (containerName, resource, divisor, expected) => {
    expect(resourceField(pod, { containerName, resource, divisor }, node)).toBe(expected)
  })

  test("are those of the variable's own container by default", () => {
    expect(resourceField(pod, { resource: "limits.memory", divisor: "1Mi" }, node, pod.spec.containers[0])).toBe("128")
  })

  test("refuse an unknown container and an unknown resource", () => {
    expect(() => resourceField(pod, { containerName: "other", resource: "limits.cpu", divisor: "0" }, node)).toThrow(
      "container other not found",
    )
    expect(() => resourceField(pod, { containerName: "main", resource: "limits.gpu", divisor: "0" }, node)).toThrow(
      "unsupported container resource : limits.gpu",
    )
  })
})

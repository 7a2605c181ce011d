import { expect, test } from "bun:test"
import type { Pod } from "../../../api/core/v1/pod/pod.ts"
import type { Ward } from "../../doctor.ts"
import { DEVICE_CLASSES, RESOURCE_CLAIMS, RESOURCE_SLICES } from "../../reading/kinds.ts"
import { deviceShortage } from "./device-shortage.ts"

test("patterns that a claim computes for each device have one bound, as in the scheduler", async () => {
  // given 128 devices, and a claim that compiles a pattern of some 10,000 instructions for each
  const expression = `!"x".matches("(" + device.attributes["gpu.example"].model + "){900}")`
  const devices = Array.from({ length: 128 }, (_, i) => ({
    name: `d${i}`,
    attributes: { model: { string: `model-${1000 + i}` } },
  }))
  const pool = { name: "p", generation: 1, resourceSliceCount: 1 }
  const exactly = { deviceClassName: "gpu", count: 200, selectors: [{ cel: { expression } }] }
  const lists = new Map<unknown, readonly object[]>([
    [RESOURCE_SLICES, [{ metadata: {}, spec: { driver: "gpu.example", pool, nodeName: "a", devices } }]],
    [
      RESOURCE_CLAIMS,
      [
        {
          metadata: { namespace: "default", name: "c" },
          spec: { devices: { requests: [{ name: "r", exactly }] } },
          status: {},
        },
      ],
    ],
  ])
  const reader = {
    listIfAllowed: (kind: unknown) => Promise.resolve(lists.get(kind)),
    get: (kind: unknown) =>
      Promise.resolve(kind === DEVICE_CLASSES ? { metadata: { name: "gpu" }, spec: {} } : undefined),
  }
  const pod = {
    metadata: { namespace: "default", name: "p" },
    spec: { resourceClaims: [{ name: "gpu", resourceClaimName: "c" }] },
    status: {},
  } as unknown as Pod
  // when
  const [found] = await deviceShortage(pod, { reader } as unknown as Ward)
  // then the search ends where the scheduler's does
  expect(found?.cause.code).toBe("device-selector-fails")
  expect(found?.cause.message).toContain("actual cost limit exceeded")
})

import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { DeviceClass } from "../../../pkg/api/resource/v1/deviceclass.ts"
import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import type { AllocatedDevices } from "./allocated-devices.ts"
import { Allocator } from "./allocator.ts"
import { DeviceSelectors } from "../../../pkg/api/resource/v1/device-selectors.ts"

export const DRIVER = "gpu.example"
export const node = (name: string, labels: Readonly<Record<string, string>> = {}): Node =>
  decodeObject(Node, { metadata: { name, labels } }).object
export const NODES = [node("one", { zone: "a" }), node("two")]
export const CLASSES = [
  { name: "gpu", spec: { selectors: [cel(`device.driver == "${DRIVER}"`)], config: [configOf({ ofClass: true })] } },
  { name: "any", spec: {} },
].map(({ name, spec }) => decodeObject(DeviceClass, { metadata: { name }, spec }).object)

export function cel(expression: string) {
  return { cel: { expression } }
}
export function configOf(parameters: object, driver = DRIVER) {
  return { opaque: { driver, parameters } }
}

interface SliceOptions {
  readonly nodeName?: string
  readonly allNodes?: boolean
  readonly nodeSelector?: object
  readonly perDeviceNodeSelection?: boolean
  readonly driver?: string
  readonly pool?: object
  readonly sharedCounters?: readonly object[]
}
export function slice(
  devices: readonly (string | object)[],
  { driver = DRIVER, pool = {}, ...spec }: SliceOptions = {},
) {
  const place = Object.keys(spec).some((key) => key !== "sharedCounters") ? {} : { nodeName: "one" }
  return decodeObject(ResourceSlice, {
    spec: {
      driver,
      pool: { name: "pool", generation: 1, resourceSliceCount: 1, ...pool },
      ...place,
      ...spec,
      ...(devices.length === 0
        ? {}
        : { devices: devices.map((device) => (typeof device === "string" ? { name: device } : device)) }),
    },
  }).object
}

export const request = (name: string, more: object = {}) => ({ name, exactly: { deviceClassName: "gpu", ...more } })
export function claim(devices: object, name = "claim") {
  return decodeObject(ResourceClaim, { metadata: { namespace: "default", name }, spec: { devices } }).object
}
export const CLAIM = claim({ requests: [request("r")] })

export interface Row {
  readonly title: string
  readonly claims?: readonly ResourceClaim[]
  readonly slices: readonly ResourceSlice[]
  readonly allocated?: readonly string[]
  readonly shared?: AllocatedDevices["shared"]
  readonly on?: Node
  /** The devices of each claim, as `<request>=<device>`; undefined where there are none; a text where it is an error. */
  readonly wants: readonly (readonly string[])[] | string | undefined
}

export const attributes = (name: string, more: object) => ({ name, attributes: more })
export const numa = (name: string, node: number) => attributes(name, { numa: { int: node } })
export const sharing = (name: string, amount: string) => ({
  name,
  consumesCounters: [{ counterSet: "memory", counters: { bytes: { value: amount } } }],
})
export const COUNTERS = [{ name: "memory", counters: { bytes: { value: "8Gi" } } }]
export const shared = (devices: readonly object[]) => [
  slice([], { sharedCounters: COUNTERS, nodeName: "one", pool: { resourceSliceCount: 2 } }),
  slice(devices, { pool: { resourceSliceCount: 2 } }),
]
/** A device that several claims can have, with 8Gi of memory of which `policy` says what parts are given. */
export const shareable = (name: string, policy?: object, more: object = {}) => ({
  name,
  allowMultipleAllocations: true,
  capacity: { memory: { value: "8Gi", ...(policy === undefined ? {} : { requestPolicy: policy }) } },
  ...more,
})
export const wanting = (name: string, memory?: string, more: object = {}) =>
  request(name, { ...(memory === undefined ? {} : { capacity: { requests: { memory } } }), ...more })
export const gibi = (count: number): bigint => BigInt(count) * 2n ** 30n * 1_000_000_000n
export const usedMemory = (gi: number) => new Map([[`${DRIVER}/pool/a`, new Map([["memory", gibi(gi)]])]])
export const STEPS = { default: "1Gi", validRange: { min: "2Gi", max: "6Gi", step: "2Gi" } }
export const VALUES = { default: "1Gi", validValues: ["1Gi", "4Gi"] }
export const tainted = (effect: string) => ({ name: "a", taints: [{ key: "broken", value: "yes", effect }] })
export const tolerating = (toleration: object) => [claim({ requests: [request("r", { tolerations: [toleration] })] })]

export function allocatorFor({
  claims = [CLAIM],
  slices,
  allocated = [],
  shared = new Map(),
}: Omit<Row, "title" | "wants">): Allocator {
  return new Allocator({
    claims,
    slices,
    allocated: { whole: new Set(allocated.map((name) => `${DRIVER}/pool/${name}`)), shared },
    shareId: () => "share",
    deviceClass: (name) => CLASSES.find(({ metadata }) => metadata.name === name),
    selectors: new DeviceSelectors(),
  })
}

/** Returns the devices of each claim on a node, in the form of `Row.wants`. */
export function allocate({ on = NODES[0]!, ...input }: Omit<Row, "title" | "wants">): unknown {
  try {
    return allocatorFor(input)
      .allocate(on)
      ?.map(({ devices }) => devices.results!.map(({ request: name, device }) => `${name}=${device}`))
  } catch (err) {
    return (err as Error).message
  }
}

/** Which devices claims get. The cases follow those of upstream's structured/internal/allocatortesting. */
import { describe, expect, test } from "bun:test"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { DeviceClass } from "../../../pkg/api/resource/v1/deviceclass.ts"
import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import type { AllocatedDevices } from "./allocated-devices.ts"
import { Allocator } from "./allocator.ts"
import { DeviceSelectors } from "./device-selectors.ts"

const DRIVER = "gpu.example"
const node = (name: string, labels: Readonly<Record<string, string>> = {}): Node =>
  decodeObject(Node, { metadata: { name, labels } }).object
const NODES = [node("one", { zone: "a" }), node("two")]
const CLASSES = [
  { name: "gpu", spec: { selectors: [cel(`device.driver == "${DRIVER}"`)], config: [configOf({ ofClass: true })] } },
  { name: "any", spec: {} },
].map(({ name, spec }) => decodeObject(DeviceClass, { metadata: { name }, spec }).object)

function cel(expression: string) {
  return { cel: { expression } }
}
function configOf(parameters: object, driver = DRIVER) {
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
function slice(devices: readonly (string | object)[], { driver = DRIVER, pool = {}, ...spec }: SliceOptions = {}) {
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

const request = (name: string, more: object = {}) => ({ name, exactly: { deviceClassName: "gpu", ...more } })
function claim(devices: object, name = "claim") {
  return decodeObject(ResourceClaim, { metadata: { namespace: "default", name }, spec: { devices } }).object
}
const CLAIM = claim({ requests: [request("r")] })

interface Row {
  readonly title: string
  readonly claims?: readonly ResourceClaim[]
  readonly slices: readonly ResourceSlice[]
  readonly allocated?: readonly string[]
  readonly shared?: AllocatedDevices["shared"]
  readonly on?: Node
  /** The devices of each claim, as `<request>=<device>`; undefined where there are none; a text where it is an error. */
  readonly wants: readonly (readonly string[])[] | string | undefined
}

const attributes = (name: string, more: object) => ({ name, attributes: more })
const numa = (name: string, node: number) => attributes(name, { numa: { int: node } })
const sharing = (name: string, amount: string) => ({
  name,
  consumesCounters: [{ counterSet: "memory", counters: { bytes: { value: amount } } }],
})
const COUNTERS = [{ name: "memory", counters: { bytes: { value: "8Gi" } } }]
const shared = (devices: readonly object[]) => [
  slice([], { sharedCounters: COUNTERS, nodeName: "one", pool: { resourceSliceCount: 2 } }),
  slice(devices, { pool: { resourceSliceCount: 2 } }),
]
/** A device that several claims can have, with 8Gi of memory of which `policy` says what parts are given. */
const shareable = (name: string, policy?: object, more: object = {}) => ({
  name,
  allowMultipleAllocations: true,
  capacity: { memory: { value: "8Gi", ...(policy === undefined ? {} : { requestPolicy: policy }) } },
  ...more,
})
const wanting = (name: string, memory?: string, more: object = {}) =>
  request(name, { ...(memory === undefined ? {} : { capacity: { requests: { memory } } }), ...more })
const gibi = (count: number): bigint => BigInt(count) * 2n ** 30n * 1_000_000_000n
const usedMemory = (gi: number) => new Map([[`${DRIVER}/pool/a`, new Map([["memory", gibi(gi)]])]])
const STEPS = { default: "1Gi", validRange: { min: "2Gi", max: "6Gi", step: "2Gi" } }
const VALUES = { default: "1Gi", validValues: ["1Gi", "4Gi"] }
const tainted = (effect: string) => ({ name: "a", taints: [{ key: "broken", value: "yes", effect }] })
const tolerating = (toleration: object) => [claim({ requests: [request("r", { tolerations: [toleration] })] })]

const rows: readonly Row[] = [
  { title: "one device", slices: [slice(["a", "b"])], wants: [["r=a"]] },
  { title: "nothing on a node that reaches none", slices: [slice(["a"])], on: NODES[1]!, wants: undefined },
  { title: "the next device where one is in use", slices: [slice(["a", "b"])], allocated: ["a"], wants: [["r=b"]] },
  { title: "nothing where all are in use", slices: [slice(["a"])], allocated: ["a"], wants: undefined },
  {
    title: "as many devices as are asked for",
    claims: [claim({ requests: [request("r", { count: 2 })] })],
    slices: [slice(["a", "b", "c"])],
    wants: [["r=a", "r=b"]],
  },
  {
    title: "all devices that fit",
    claims: [claim({ requests: [request("r", { allocationMode: "All" })] })],
    slices: [slice(["a", "b"]), slice(["c"], { driver: "other.example" })],
    wants: [["r=a", "r=b"]],
  },
  {
    title: "not all devices where one of them is in use",
    claims: [claim({ requests: [request("r", { allocationMode: "All" })] })],
    slices: [slice(["a", "b"])],
    allocated: ["b"],
    wants: undefined,
  },
  {
    title: "not all devices where there is none",
    claims: [claim({ requests: [request("r", { allocationMode: "All" })] })],
    slices: [],
    wants: undefined,
  },
  {
    title: "no device twice, for several claims",
    claims: [claim({ requests: [request("r")] }), claim({ requests: [request("s")] }, "other")],
    slices: [slice(["a", "b"])],
    wants: [["r=a"], ["s=b"]],
  },
  {
    title: "a device that the class takes",
    slices: [slice(["a"], { driver: "other.example" }), slice(["b"])],
    wants: [["r=b"]],
  },
  {
    title: "a device with the wanted attributes and capacity",
    claims: [
      claim({
        requests: [
          request("r", {
            selectors: [
              cel(`device.attributes["${DRIVER}"].model == "big"`),
              cel(`device.attributes["${DRIVER}"].version.isGreaterThan(semver("1.2.0"))`),
              cel(`device.capacity["${DRIVER}"].memory.compareTo(quantity("4Gi")) >= 0`),
              cel(`!("other.example" in device.attributes) && size(device.attributes["other.example"]) == 0`),
            ],
          }),
        ],
      }),
    ],
    slices: [
      slice([
        attributes("old", { model: { string: "big" }, version: { version: "1.1.9" } }),
        {
          ...attributes("small", { model: { string: "big" }, version: { version: "1.3.0" } }),
          capacity: { memory: { value: "1Gi" } },
        },
        {
          ...attributes("right", { [`${DRIVER}/model`]: { string: "big" }, version: { version: "1.10.0" } }),
          capacity: { memory: { value: "8Gi" } },
        },
      ]),
    ],
    wants: [["r=right"]],
  },
  {
    title: "an error where an expression fails",
    claims: [claim({ requests: [request("r", { selectors: [cel(`device.attributes["x.y"].missing == 1`)] })] })],
    slices: [slice(["a"])],
    wants: "claim: selector #0: CEL runtime error: no such key: missing",
  },
  {
    title: "devices with the same attribute, though others come first",
    claims: [
      claim({
        requests: [request("r", { count: 2 })],
        constraints: [{ requests: ["r"], matchAttribute: `${DRIVER}/numa` }],
      }),
    ],
    slices: [slice([numa("a", 0), numa("b", 1), numa("c", 1), "d"])],
    wants: [["r=b", "r=c"]],
  },
  {
    title: "devices with different attributes",
    claims: [claim({ requests: [request("r", { count: 2 })], constraints: [{ distinctAttribute: `${DRIVER}/numa` }] })],
    slices: [slice([numa("a", 0), numa("b", 0), numa("c", 1)])],
    wants: [["r=a", "r=c"]],
  },
  {
    title: "an error where all devices are wanted and a constraint keeps one out",
    claims: [
      claim({
        requests: [request("r", { allocationMode: "All" })],
        constraints: [{ matchAttribute: `${DRIVER}/numa` }],
      }),
    ],
    slices: [slice([numa("a", 0), numa("b", 1)])],
    wants:
      "claim default/claim, request r: cannot add device gpu.example/pool/b because a claim constraint would not be satisfied",
  },
  {
    title: "the first alternative that can be had",
    claims: [
      claim({
        requests: [
          {
            name: "r",
            firstAvailable: [
              { name: "two", deviceClassName: "gpu", count: 2 },
              { name: "one", deviceClassName: "gpu" },
            ],
          },
        ],
      }),
    ],
    slices: [slice(["a"])],
    wants: [["r/one=a"]],
  },
  {
    title: "another alternative where a later request needs the devices",
    claims: [
      claim({
        requests: [
          {
            name: "r",
            firstAvailable: [
              { name: "two", deviceClassName: "gpu", count: 2 },
              { name: "one", deviceClassName: "gpu" },
            ],
          },
          request("s"),
        ],
      }),
    ],
    slices: [slice(["a", "b"])],
    wants: [["r/one=a", "s=b"]],
  },
  {
    title: "an error for more devices than a claim holds",
    claims: [claim({ requests: [request("r", { count: 20 }), request("s", { count: 13 })] })],
    slices: [slice(["a"])],
    wants: "claim default/claim: number of requested devices 33 exceeds the claim limit of 32",
  },
  {
    title: "a device in use with admin access",
    claims: [claim({ requests: [request("r", { adminAccess: true })] })],
    slices: [slice(["a"])],
    allocated: ["a"],
    wants: [["r=a"]],
  },
  { title: "no device with a taint", slices: [slice([tainted("NoSchedule")])], wants: undefined },
  { title: "a device with a taint without effect", slices: [slice([tainted("None")])], wants: [["r=a"]] },
  {
    title: "a device with a taint that is tolerated",
    claims: tolerating({ key: "broken", operator: "Exists" }),
    slices: [slice([tainted("NoExecute")])],
    wants: [["r=a"]],
  },
  {
    title: "no device with a taint of another value than the one that is tolerated",
    claims: tolerating({ key: "broken", operator: "Equal", value: "no" }),
    slices: [slice([tainted("NoSchedule")])],
    wants: undefined,
  },
  {
    title: "devices as far as the counters that they share go",
    claims: [claim({ requests: [request("r", { count: 2 })] })],
    slices: shared([sharing("a", "6Gi"), sharing("b", "4Gi"), sharing("c", "2Gi")]),
    wants: [["r=a", "r=c"]],
  },
  {
    title: "no device whose counters are used up",
    slices: shared([sharing("a", "6Gi"), sharing("b", "4Gi")]),
    allocated: ["a"],
    wants: undefined,
  },
  {
    title: "an error where counters are missing",
    slices: [slice([sharing("a", "1Gi")])],
    wants: "invalid resource pools were encountered",
  },
  {
    title: "nothing of a pool that is not complete",
    slices: [slice(["a"], { pool: { resourceSliceCount: 2 } })],
    wants: undefined,
  },
  {
    title: "an error where all devices of a pool that is not complete are wanted",
    claims: [claim({ requests: [request("r", { allocationMode: "All" })] })],
    slices: [slice(["a"], { pool: { resourceSliceCount: 2 } })],
    wants: "request r: asks for all devices, but resource pool gpu.example/pool is currently being updated",
  },
  {
    title: "devices of the newest generation of a pool",
    slices: [slice(["old"]), slice(["new"], { pool: { generation: 2 } })],
    wants: [["r=new"]],
  },
  {
    title: "nothing where a newer generation has devices for other nodes only",
    slices: [
      slice(["old"], { pool: { resourceSliceCount: 2 } }),
      slice(["new"], { pool: { generation: 2 }, nodeName: "two" }),
    ],
    wants: undefined,
  },
  {
    title: "an error where two devices of a pool have one name",
    slices: [slice(["a"], { pool: { resourceSliceCount: 2 } }), slice(["a"], { pool: { resourceSliceCount: 2 } })],
    wants: "invalid resource pools were encountered",
  },
  {
    title: "devices of nodes with a label",
    slices: [
      slice(["a"], {
        nodeSelector: { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }] },
      }),
    ],
    wants: [["r=a"]],
  },
  {
    title: "devices that say themselves which node reaches them",
    slices: [
      slice(
        [
          { name: "a", nodeName: "two" },
          { name: "b", allNodes: true },
        ],
        { perDeviceNodeSelection: true },
      ),
    ],
    wants: [["r=b"]],
  },
  {
    title: "as much of a capacity as is asked for",
    claims: [claim({ requests: [request("r", { capacity: { requests: { memory: "2Gi" } } })] })],
    slices: [
      slice([
        { name: "a", capacity: { memory: { value: "1Gi" } } },
        { name: "b", capacity: { memory: { value: "4Gi" } } },
      ]),
    ],
    wants: [["r=b"]],
  },
  {
    title: "a share of a device that other claims have shares of",
    claims: [claim({ requests: [wanting("r", "4Gi")] })],
    slices: [slice([shareable("a")])],
    shared: usedMemory(4),
    wants: [["r=a"]],
  },
  {
    title: "no share that is larger than what is left",
    claims: [claim({ requests: [wanting("r", "5Gi")] })],
    slices: [slice([shareable("a"), shareable("b")])],
    shared: usedMemory(4),
    wants: [["r=b"]],
  },
  {
    title: "the whole of a device where it does not say how much, and the device has no usual amount",
    claims: [claim({ requests: [wanting("r")] })],
    slices: [slice([shareable("a")])],
    shared: usedMemory(1),
    wants: undefined,
  },
  {
    title: "the usual amount where it does not say how much",
    claims: [claim({ requests: [wanting("r")] })],
    slices: [slice([shareable("a", VALUES)])],
    shared: usedMemory(7),
    wants: [["r=a"]],
  },
  {
    title: "shares of one device for several requests and claims, as far as they go",
    claims: [
      claim({ requests: [wanting("r", "4Gi"), wanting("s", "3Gi")] }),
      claim({ requests: [wanting("t", "2Gi")] }, "other"),
    ],
    slices: [slice([shareable("a"), shareable("b")])],
    wants: [["r=a", "s=a"], ["t=b"]],
  },
  {
    title: "several devices for one request, and not one of them twice",
    claims: [claim({ requests: [wanting("r", "1Gi", { count: 2 })] })],
    slices: [slice([shareable("a")])],
    wants: undefined,
  },
  {
    title: "shares of devices that differ in an attribute",
    claims: [
      claim({
        requests: [wanting("r", "1Gi"), wanting("s", "1Gi")],
        constraints: [{ distinctAttribute: `${DRIVER}/numa` }],
      }),
    ],
    slices: [slice(["a", "b"].map((name, i) => shareable(name, undefined, { attributes: { numa: { int: i } } })))],
    wants: [["r=a", "s=b"]],
  },
  {
    title: "no more than the device gives at once",
    claims: [claim({ requests: [wanting("r", "7Gi")] })],
    slices: [slice([shareable("a", STEPS)])],
    wants: undefined,
  },
  {
    title: "no amount over the largest that the device gives",
    claims: [claim({ requests: [wanting("r", "5Gi")] })],
    slices: [slice([shareable("a", VALUES)])],
    wants: undefined,
  },
  {
    title: "the counters of a shared device once",
    claims: [claim({ requests: [wanting("r", "1Gi"), wanting("s", "1Gi")] })],
    slices: shared([shareable("a", undefined, { consumesCounters: sharing("a", "8Gi").consumesCounters })]),
    wants: [["r=a", "s=a"]],
  },
]

function allocatorFor({
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

describe("a claim gets", () => {
  test.each(rows)("$title", ({ wants, on = NODES[0]!, ...input }) => {
    const outcome = (): unknown => {
      try {
        return allocatorFor(input)
          .allocate(on)
          ?.map(({ devices }) => devices.results!.map(({ request: name, device }) => `${name}=${device}`))
      } catch (err) {
        return (err as Error).message
      }
    }
    expect(outcome()).toEqual(wants)
  })

  test("what drivers are told, from its class and itself, and the nodes that reach the devices", () => {
    const config = [
      { requests: ["r"], ...configOf({ forRequest: true }) },
      { requests: ["elsewhere"], ...configOf({ forOther: true }) },
      configOf({ forAll: true }),
    ]
    const tolerations = [{ key: "broken", operator: "Exists" }]
    const [allocation] = allocatorFor({
      claims: [claim({ requests: [request("r", { tolerations }), request("s", { adminAccess: true })], config })],
      slices: [slice(["a", "b"])],
    }).allocate(NODES[0]!)!
    expect<unknown>(allocation).toEqual({
      devices: {
        results: [
          { request: "r", driver: DRIVER, pool: "pool", device: "a", tolerations },
          { request: "s", driver: DRIVER, pool: "pool", device: "b", adminAccess: true },
        ],
        config: [
          { source: "FromClass", requests: ["r", "s"], ...configOf({ ofClass: true }) },
          { source: "FromClaim", requests: ["r"], ...configOf({ forRequest: true }) },
          { source: "FromClaim", ...configOf({ forAll: true }) },
        ],
      },
      nodeSelector: {
        nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["one"] }] }],
      },
    })
  })

  test.each([
    { title: "as much as it asks for", asks: "3Gi", policy: undefined, wants: "3Gi" },
    { title: "all where it says nothing", asks: undefined, policy: undefined, wants: "8Gi" },
    { title: "the usual amount where it says nothing", asks: undefined, policy: STEPS, wants: "1Gi" },
    { title: "the least that there is", asks: "1", policy: STEPS, wants: "2Gi" },
    { title: "the next step", asks: "2049Mi", policy: STEPS, wants: "4Gi" },
    { title: "the next of some amounts", asks: "2Gi", policy: VALUES, wants: "4Gi" },
  ])("a share of a device: $title", ({ asks, policy, wants }) => {
    const [allocation] = allocatorFor({
      claims: [claim({ requests: [wanting("r", asks)] })],
      slices: [slice([shareable("a", policy)])],
    }).allocate(NODES[0]!)!
    expect(allocation!.devices.results).toEqual([
      {
        request: "r",
        driver: DRIVER,
        pool: "pool",
        device: "a",
        shareID: "share",
        consumedCapacity: { memory: wants },
      },
    ])
  })

  test("the conditions that its device must meet, and the node that the device is made ready for", () => {
    const conditions = { bindingConditions: ["Attached"], bindingFailureConditions: ["Broken"] }
    const [allocation] = allocatorFor({
      claims: [CLAIM],
      slices: [slice([{ name: "a", bindsToNode: true, ...conditions }], { allNodes: true })],
    }).allocate(NODES[1]!)!
    expect(allocation).toMatchObject({
      devices: { results: [{ device: "a", ...conditions }] },
      nodeSelector: { nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", values: ["two"] }] }] },
    })
  })

  test("an answer in bounded time, however many combinations there are", () => {
    // given 40 devices of three kinds in turn, and a claim for 30 of one kind
    const devices = Array.from({ length: 40 }, (_, i) => numa(`d${i}`, i % 3))
    const hard = claim({
      requests: [request("r", { count: 15 }), request("s", { count: 15 })],
      constraints: [{ matchAttribute: `${DRIVER}/numa` }],
    })
    // then
    expect(() => allocatorFor({ claims: [hard], slices: [slice(devices)] }).allocate(NODES[0]!)).toThrow(
      "node one: timed out trying to allocate devices",
    )
  })
})

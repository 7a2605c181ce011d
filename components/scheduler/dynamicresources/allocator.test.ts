/** Which devices claims get. The cases follow those of upstream's structured/internal/allocatortesting. */
import { describe, expect, test } from "bun:test"
import type { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
import {
  DRIVER,
  NODES,
  cel,
  configOf,
  slice,
  request,
  claim,
  CLAIM,
  type Row,
  attributes,
  numa,
  sharing,
  shared,
  tainted,
  tolerating,
  allocatorFor,
  allocate,
} from "./allocator.fixtures.ts"
import { NodeAllocationError } from "./allocator.ts"

/** The API server shares equal parts of objects with one owner, such as the slices of a node. */
const alike = (first: ResourceSlice, second: ResourceSlice): readonly ResourceSlice[] => [
  first,
  { ...second, spec: { ...second.spec, devices: first.spec.devices } },
]

const rows: readonly Row[] = [
  { title: "one device", slices: [slice(["a", "b"])], wants: [["r=a"]] },
  { title: "no device on a node that can reach none", slices: [slice(["a"])], on: NODES[1]!, wants: undefined },
  { title: "the next device if one is in use", slices: [slice(["a", "b"])], allocated: ["a"], wants: [["r=b"]] },
  { title: "no device if all are in use", slices: [slice(["a"])], allocated: ["a"], wants: undefined },
  {
    title: "a device of its driver, where another driver has devices that are alike and share their objects",
    slices: alike(slice(["a", "b"], { driver: "other.example", nodeName: "one" }), slice(["a", "b"])),
    wants: [["r=a"]],
  },
  {
    title: "several devices of its driver, where another driver has devices that are alike and share their objects",
    claims: [claim({ requests: [request("r", { count: 2 })] })],
    slices: alike(slice(["a", "b"], { driver: "other.example", nodeName: "one" }), slice(["a", "b"])),
    wants: [["r=a", "r=b"]],
  },
  {
    title: "the number of devices that it requests",
    claims: [claim({ requests: [request("r", { count: 2 })] })],
    slices: [slice(["a", "b", "c"])],
    wants: [["r=a", "r=b"]],
  },
  {
    title: "all matching devices",
    claims: [claim({ requests: [request("r", { allocationMode: "All" })] })],
    slices: [slice(["a", "b"]), slice(["c"], { driver: "other.example" })],
    wants: [["r=a", "r=b"]],
  },
  {
    title: "no device if it requests all and one of them is in use",
    claims: [claim({ requests: [request("r", { allocationMode: "All" })] })],
    slices: [slice(["a", "b"])],
    allocated: ["b"],
    wants: undefined,
  },
  {
    title: "no device if it requests all and there are none",
    claims: [claim({ requests: [request("r", { allocationMode: "All" })] })],
    slices: [],
    wants: undefined,
  },
  {
    title: "devices that no other claim gets",
    claims: [claim({ requests: [request("r")] }), claim({ requests: [request("s")] }, "other")],
    slices: [slice(["a", "b"])],
    wants: [["r=a"], ["s=b"]],
  },
  {
    title: "a device that the class selects",
    slices: [slice(["a"], { driver: "other.example" }), slice(["b"])],
    wants: [["r=b"]],
  },
  {
    title: "a device with the requested attributes and capacity",
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
    title: "an error if an expression fails",
    claims: [claim({ requests: [request("r", { selectors: [cel(`device.attributes["x.y"].missing == 1`)] })] })],
    slices: [slice(["a"])],
    wants: "claim default/claim: selector #0: CEL runtime error: no such key: missing",
  },
  {
    title: "devices with the same attribute, although others come first",
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
    title: "an error if it requests all devices and a constraint excludes one",
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
    title: "the first alternative that is available",
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
    title: "another alternative if a later request needs the devices",
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
    title: "an error if it requests more devices than a claim can have",
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
  { title: "a device with a taint that has no effect", slices: [slice([tainted("None")])], wants: [["r=a"]] },
  {
    title: "a device with a taint that is tolerated",
    claims: tolerating({ key: "broken", operator: "Exists" }),
    slices: [slice([tainted("NoExecute")])],
    wants: [["r=a"]],
  },
  {
    title: "no device with a taint of another value than the tolerated one",
    claims: tolerating({ key: "broken", operator: "Equal", value: "no" }),
    slices: [slice([tainted("NoSchedule")])],
    wants: undefined,
  },
  {
    title: "devices as long as their shared counters suffice",
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
    title: "an error if counters are missing",
    slices: [slice([sharing("a", "1Gi")])],
    wants: "invalid resource pools were encountered",
  },
  {
    title: "no device of an incomplete pool",
    slices: [slice(["a"], { pool: { resourceSliceCount: 2 } })],
    wants: undefined,
  },
  {
    title: "an error if it requests all devices of an incomplete pool",
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
    title: "no device if a newer generation has devices for other nodes only",
    slices: [
      slice(["old"], { pool: { resourceSliceCount: 2 } }),
      slice(["new"], { pool: { generation: 2 }, nodeName: "two" }),
    ],
    wants: undefined,
  },
  {
    title: "an error if two devices of a pool have the same name",
    slices: [slice(["a"], { pool: { resourceSliceCount: 2 } }), slice(["a"], { pool: { resourceSliceCount: 2 } })],
    wants: "invalid resource pools were encountered",
  },
  {
    title: "devices of nodes that match a node selector",
    slices: [
      slice(["a"], {
        nodeSelector: { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }] },
      }),
    ],
    wants: [["r=a"]],
  },
  {
    title: "devices with their own node name",
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
]

describe("a claim gets", () => {
  test.each(rows)("$title", ({ wants, ...input }) => expect(allocate(input)).toEqual(wants))

  test("the configuration for its drivers, from its class and itself, and a node selector for its devices", () => {
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

  test("the binding conditions of its device, and the node for which the device is prepared", () => {
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

  test("an error that leaves other nodes to be tried, where the devices of one node contradict each other", () => {
    const twice = [slice(["a"], { pool: { resourceSliceCount: 2 } }), slice(["a"], { pool: { resourceSliceCount: 2 } })]
    expect(() => allocatorFor({ claims: [CLAIM], slices: twice }).allocate(NODES[0]!)).toThrow(NodeAllocationError)
  })

  test("a result in bounded time, however many combinations there are", () => {
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

/** Shares of devices: what claims get of devices that several claims can use. Source of the cases: as in allocator.test.ts. */
import { describe, expect, test } from "bun:test"
import {
  DRIVER,
  NODES,
  slice,
  request,
  claim,
  type Row,
  sharing,
  shared,
  shareable,
  wanting,
  usedMemory,
  STEPS,
  VALUES,
  allocatorFor,
  allocate,
} from "./allocator.fixtures.ts"

const rows: readonly Row[] = [
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

describe("a claim gets", () => {
  test.each(rows)("$title", ({ wants, ...input }) => expect(allocate(input)).toEqual(wants))

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
})

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
    title: "the capacity that it requests",
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
    title: "a share of a device that other claims share",
    claims: [claim({ requests: [wanting("r", "4Gi")] })],
    slices: [slice([shareable("a")])],
    shared: usedMemory(4),
    wants: [["r=a"]],
  },
  {
    title: "no share that is larger than the rest of the capacity",
    claims: [claim({ requests: [wanting("r", "5Gi")] })],
    slices: [slice([shareable("a"), shareable("b")])],
    shared: usedMemory(4),
    wants: [["r=b"]],
  },
  {
    title: "no share if it requests no amount and the device has no default, since others share the device",
    claims: [claim({ requests: [wanting("r")] })],
    slices: [slice([shareable("a")])],
    shared: usedMemory(1),
    wants: undefined,
  },
  {
    title: "the default amount if it requests none",
    claims: [claim({ requests: [wanting("r")] })],
    slices: [slice([shareable("a", VALUES)])],
    shared: usedMemory(7),
    wants: [["r=a"]],
  },
  {
    title: "shares of one device for several requests and claims, up to its capacity",
    claims: [
      claim({ requests: [wanting("r", "4Gi"), wanting("s", "3Gi")] }),
      claim({ requests: [wanting("t", "2Gi")] }, "other"),
    ],
    slices: [slice([shareable("a"), shareable("b")])],
    wants: [["r=a", "s=a"], ["t=b"]],
  },
  {
    title: "several devices for one request, none of them twice",
    claims: [claim({ requests: [wanting("r", "1Gi", { count: 2 })] })],
    slices: [slice([shareable("a")])],
    wants: undefined,
  },
  {
    title: "shares of devices with distinct attributes",
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
    title: "no more than the largest valid value",
    claims: [claim({ requests: [wanting("r", "7Gi")] })],
    slices: [slice([shareable("a", STEPS)])],
    wants: undefined,
  },
  {
    title: "no more than the maximum of the request policy",
    claims: [claim({ requests: [wanting("r", "5Gi")] })],
    slices: [slice([shareable("a", VALUES)])],
    wants: undefined,
  },
  {
    title: "a shared device, whose counters are consumed once",
    claims: [claim({ requests: [wanting("r", "1Gi"), wanting("s", "1Gi")] })],
    slices: shared([shareable("a", undefined, { consumesCounters: sharing("a", "8Gi").consumesCounters })]),
    wants: [["r=a", "s=a"]],
  },
]

describe("a claim gets", () => {
  test.each(rows)("$title", ({ wants, ...input }) => expect(allocate(input)).toEqual(wants))

  test.each([
    { title: "the requested amount", asks: "3Gi", policy: undefined, wants: "3Gi" },
    { title: "the whole capacity without a requested amount", asks: undefined, policy: undefined, wants: "8Gi" },
    {
      title: "the default amount of the policy without a requested amount",
      asks: undefined,
      policy: STEPS,
      wants: "1Gi",
    },
    { title: "the minimum of the policy", asks: "1", policy: STEPS, wants: "2Gi" },
    { title: "the requested amount rounded up to the next step", asks: "2049Mi", policy: STEPS, wants: "4Gi" },
    { title: "the next larger valid value", asks: "2Gi", policy: VALUES, wants: "4Gi" },
  ])("a share of a device has $title", ({ asks, policy, wants }) => {
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

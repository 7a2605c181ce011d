import { describe, expect, test } from "bun:test"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { extendedRequests } from "./extended-resources.ts"

const GPU = "example.com/gpu"
const FPGA = "example.com/fpga"
const IMPLICIT = "deviceclass.resource.kubernetes.io/fpga"
const CLASSES: Readonly<Record<string, string>> = { [GPU]: "gpu", [FPGA]: "fpga", [IMPLICIT]: "fpga" }

interface Asks {
  readonly initContainers?: readonly (readonly [asks: Readonly<Record<string, string>>, sidecar?: "sidecar"])[]
  readonly containers: readonly Readonly<Record<string, string>>[]
}

/** A pod whose containers are called c0, c1 … and i0, i1 … */
function podAsking({ initContainers = [], containers }: Asks): Pod {
  const of = (name: string, requests: object) => ({ name, image: "i", resources: { requests, limits: requests } })
  return decodeObject(Pod, {
    metadata: { name: "p" },
    spec: {
      containers: containers.map((asks, i) => of(`c${i}`, asks)),
      initContainers: initContainers.map(([asks, sidecar], i) => ({
        ...of(`i${i}`, asks),
        ...(sidecar === undefined ? {} : { restartPolicy: "Always" }),
      })),
    },
  }).object
}

const TABLE: readonly {
  readonly title: string
  readonly given: Asks
  /** By name: the class and the number of devices. */
  readonly requests: Readonly<Record<string, string>>
  /** Container, resource, and name of the request. */
  readonly mappings: readonly string[]
}[] = [
  { title: "no requests for pods without extended resources", given: { containers: [{}] }, requests: {}, mappings: [] },
  {
    title: "one request for each container and resource, numbered by the sorted names of all resources",
    given: { containers: [{ cpu: "1", [GPU]: "2", [FPGA]: "1" }, { [GPU]: "1" }] },
    requests: { "container-0-request-1": "fpga 1", "container-0-request-2": "gpu 2", "container-1-request-0": "gpu 1" },
    mappings: [
      `c0 ${FPGA} container-0-request-1`,
      `c0 ${GPU} container-0-request-2`,
      `c1 ${GPU} container-1-request-0`,
    ],
  },
  {
    title: "no request for a resource without a DeviceClass, or for an amount of 0",
    given: { containers: [{ "example.com/other": "1", [GPU]: "0" }] },
    requests: {},
    mappings: [],
  },
  {
    title: "requests for the implicit resource of each DeviceClass",
    given: { containers: [{ [IMPLICIT]: "1", [FPGA]: "1" }] },
    requests: { "container-0-request-0": "fpga 1", "container-0-request-1": "fpga 1" },
    mappings: [`c0 ${IMPLICIT} container-0-request-0`, `c0 ${FPGA} container-0-request-1`],
  },
  {
    title: "for an init container, the devices of containers that start later",
    given: { initContainers: [[{ [GPU]: "2" }]], containers: [{ [GPU]: "1" }, { [GPU]: "1" }, { [GPU]: "1" }] },
    requests: { "container-1-request-0": "gpu 1", "container-2-request-0": "gpu 1", "container-3-request-0": "gpu 1" },
    mappings: [
      `c0 ${GPU} container-1-request-0`,
      `c1 ${GPU} container-2-request-0`,
      `c2 ${GPU} container-3-request-0`,
      `i0 ${GPU} container-1-request-0`,
      `i0 ${GPU} container-2-request-0`,
    ],
  },
  {
    title: "for init containers, one request of the devices that the largest of them needs in addition",
    given: { initContainers: [[{ [GPU]: "2" }], [{ [GPU]: "4" }], [{ [GPU]: "3" }]], containers: [{ [GPU]: "1" }] },
    requests: { "container-1-request-0": "gpu 3", "container-3-request-0": "gpu 1" },
    mappings: [
      `c0 ${GPU} container-3-request-0`,
      ...["i0", "i1", "i2"].flatMap((name) => [
        `${name} ${GPU} container-3-request-0`,
        `${name} ${GPU} container-1-request-0`,
      ]),
    ],
  },
  {
    title: "for an init container, the devices of a sidecar that starts later, but not of one that runs already",
    given: {
      initContainers: [[{ [GPU]: "1" }], [{ [GPU]: "1" }, "sidecar"], [{ [GPU]: "2" }]],
      containers: [{ [FPGA]: "1" }],
    },
    requests: { "container-1-request-0": "gpu 1", "container-2-request-0": "gpu 2", "container-3-request-0": "fpga 1" },
    mappings: [
      `c0 ${FPGA} container-3-request-0`,
      `i1 ${GPU} container-1-request-0`,
      `i0 ${GPU} container-1-request-0`,
      `i2 ${GPU} container-2-request-0`,
    ],
  },
]

describe("a claim for extended resources has", () => {
  test.each(TABLE)("$title", ({ given, requests, mappings }) => {
    const resources = Object.keys({ ...CLASSES, "example.com/other": "" }).sort()
    const found = extendedRequests(podAsking(given), resources, (resource) => CLASSES[resource])
    expect(
      Object.fromEntries(
        found.requests.map(({ name, exactly }) => [name, `${exactly!.deviceClassName} ${exactly!.count}`]),
      ),
    ).toEqual(requests)
    expect(found.requests.map(({ name }) => name)).toEqual(Object.keys(requests))
    expect(found.mappings.map((one) => `${one.containerName} ${one.resourceName} ${one.requestName}`)).toEqual([
      ...mappings,
    ])
  })
})

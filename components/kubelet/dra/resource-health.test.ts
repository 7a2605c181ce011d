import { expect, test } from "bun:test"
import type { DraDevice } from "./dra-service.ts"
import { resourceStatus } from "./resource-health.ts"

const device = (deviceName: string, more: Partial<DraDevice> = {}): DraDevice => ({
  requestNames: [],
  poolName: "pool",
  deviceName,
  cdiDeviceIds: [],
  shareId: "",
  ...more,
})
const drivers = (...devices: readonly DraDevice[]) => new Map([["gpu.example.com", devices]])

test.each([
  {
    title: "names a device by its driver, pool and name if it has no CDI device",
    used: { name: "gpu" },
    devices: drivers(device("a")),
    wants: { name: "claim:gpu", resources: [{ resourceID: "gpu.example.com/pool/a", health: "Healthy" }] },
  },
  {
    title: "names a device by its first CDI device, and once if others have the same",
    used: { name: "gpu" },
    devices: drivers(device("a", { cdiDeviceIds: ["x=1", "x=2"] }), device("b", { cdiDeviceIds: ["x=1"] })),
    wants: { name: "claim:gpu", resources: [{ resourceID: "x=1", health: "Healthy" }] },
  },
  {
    title: "shows the devices of the request, and those of all requests",
    used: { name: "gpu", request: "big" },
    devices: drivers(device("a", { requestNames: ["small"] }), device("b", { requestNames: ["big"] }), device("c")),
    wants: {
      name: "claim:gpu/big",
      resources: [
        { resourceID: "gpu.example.com/pool/b", health: "Healthy" },
        { resourceID: "gpu.example.com/pool/c", health: "Healthy" },
      ],
    },
  },
  {
    title: "finds the device of a subrequest by its request",
    used: { name: "gpu", request: "big/first" },
    devices: drivers(device("a", { requestNames: ["big"] })),
    wants: { name: "claim:gpu/big/first", resources: [{ resourceID: "gpu.example.com/pool/a", health: "Healthy" }] },
  },
  {
    title: "is left out if the driver has prepared no device",
    used: { name: "gpu" },
    devices: drivers(),
    wants: undefined,
  },
])("the status of a claim $title", ({ used, devices, wants }) => {
  const status = resourceStatus(used, devices, { of: () => ({ health: "Healthy", message: "" }) })
  expect(status).toEqual(wants)
})

import { expect, test } from "bun:test"
import { encodeCheckpoint, type ClaimState } from "./claim-checkpoint.ts"
import { decodeCheckpoint } from "./decode-checkpoint.ts"

const CLAIM: ClaimState = {
  ClaimUID: "067798be-454e-4be4-9047-1aa06aea63f7",
  ClaimName: "example",
  Namespace: "default",
  PodUIDs: { "139cdb46-f989-4f17-9561-ca10cfb509a6": {} },
  DriverState: {
    "test-driver.cdi.k8s.io": {
      Devices: [
        {
          PoolName: "worker-1",
          DeviceName: "dev-1",
          ShareID: null,
          RequestNames: ["test request"],
          CDIDeviceIDs: ["example.com/example=cdi-example"],
        },
      ],
    },
  },
}

test("the checkpoint of prepared claims has upstream's format, and can be read back", () => {
  // Source of the checksum: pkg/kubelet/cm/dra/state/checkpointer_test.go, for the same claim.
  const text = encodeCheckpoint([CLAIM])
  expect(JSON.parse(text)).toMatchObject({ Checksum: 2570581864 })
  expect(decodeCheckpoint(text)).toEqual([CLAIM])
})

test.each([
  {
    title: "a checksum that does not match",
    text: encodeCheckpoint([CLAIM]).replace("worker-1", "worker-2"),
    wants: "checksum",
  },
  { title: "text that is no JSON", text: "{", wants: "JSON" },
  { title: "missing fields", text: encodeCheckpoint([{} as ClaimState]), wants: "ClaimUID" },
])("a record with $title is refused", ({ text, wants }) => {
  expect(() => decodeCheckpoint(text)).toThrow(wants)
})

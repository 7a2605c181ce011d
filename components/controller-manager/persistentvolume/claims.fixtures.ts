import { expect } from "bun:test"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { StorageClass } from "../../../pkg/api/storage/v1/storageclass.ts"
import { claimBinder } from "./claims.ts"
import { syncOnce, wantedClaim, wantedVolume, type World } from "./one-sync.fixtures.ts"

/**
 * One look of the binder at a claim. `from` names the case of upstream's tests that asserts the same:
 * pkg/controller/volume/persistentvolume/{binder,provision,index}_test.go, pv_controller_test.go. The words of the
 * lines are told in one-sync.fixtures.ts. What is left out of `wants` stays as it was.
 */
export interface Row {
  readonly title: string
  readonly from?: string
  readonly given: World
  readonly wants?: {
    readonly volumes?: readonly string[]
    readonly claim?: string
    readonly events?: readonly string[]
  }
}

export const storageClass = (name: string, provisioner: string, more: object = {}): StorageClass =>
  ({ kind: "StorageClass", metadata: { name }, provisioner, ...more }) as unknown as StorageClass
export const WAITS = { volumeBindingMode: "WaitForFirstConsumer" }
export const byDefault = (name: string, created: string): StorageClass =>
  storageClass(name, "vendor.com/disk", {
    metadata: {
      name,
      creationTimestamp: created,
      annotations: { "storageclass.kubernetes.io/is-default-class": "true" },
    },
  })
export const CLASSES = [
  storageClass("external", "vendor.com/disk"),
  storageClass("external-waits", "vendor.com/disk", WAITS),
  storageClass("waits", "kubernetes.io/no-provisioner", WAITS),
  storageClass("unknown", "kubernetes.io/unknown"),
  storageClass("ebs", "kubernetes.io/aws-ebs"),
]
export const user = (name: string, fields: object = {}): Pod =>
  ({
    kind: "Pod",
    metadata: { namespace: "default", name },
    spec: { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }] },
    status: {},
    ...fields,
  }) as unknown as Pod
export const FAILED = ["Normal FailedBinding"]
export const MISMATCH = ["Warning VolumeMismatch"]
export const WAITING = ["Normal ExternalProvisioning"]
export const BOUND = "1Gi Bound volume=a chosen complete"

/** Asserts what the binder does with a claim at one look at it. */
export async function expectLook({ given, wants = {} }: Row): Promise<void> {
  // when
  const after = await syncOnce(claimBinder, "default/data", { ...given, others: [...CLASSES, ...(given.others ?? [])] })
  // then
  const { volumes = given.volumes ?? [], claim = given.claim, events = [] } = wants
  expect(after).toEqual({
    volumes: volumes.map(wantedVolume),
    claim: claim === undefined ? undefined : wantedClaim(claim),
    events,
  })
}

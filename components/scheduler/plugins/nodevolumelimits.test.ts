import { expect, test } from "bun:test"
import type { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import type { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { CSINode } from "../../../pkg/api/storage/v1/csinode.ts"
import type { StorageClass } from "../../../pkg/api/storage/v1/storageclass.ts"
import type { VolumeAttachment } from "../../../pkg/api/storage/v1/volumeattachment.ts"
import { NodeInfo } from "../node-info.ts"
import { nodeVolumeLimits } from "./nodevolumelimits.ts"
import type { VolumeObjects } from "../volumebinding/volume-objects.ts"

/** Counterparts of TestCSILimits in plugins/nodevolumelimits/csi_test.go. */

const DRIVER = "disk.example.com"
const EBS = "ebs.csi.aws.com"

/** Volumes by name with their CSI driver, or `ebs` for a disk of the driver that was part of Kubernetes. */
const VOLUMES: Readonly<Record<string, string>> = {
  a: DRIVER,
  b: DRIVER,
  c: DRIVER,
  other: "other.io",
  old: "ebs",
  e: EBS,
}
/** Claims of the same name are bound to them; these are not bound, by their class. */
const UNBOUND: Readonly<Record<string, string>> = {
  "to-be": "disk",
  "to-be-2": "disk",
  "to-be-old": "ebs",
  classless: "",
  lost: "disk",
  "no-such-class": "gone",
}
const PROVISIONERS: Readonly<Record<string, string>> = { disk: DRIVER, ebs: "kubernetes.io/aws-ebs" }

/** `claim:a` uses the claim, `own:a` an ephemeral volume, `ebs:vol-1` a disk by itself, `secret` none. */
function podWith(name: string, ...volumes: readonly string[]): Pod {
  const volumeOf = (what: string) => {
    const [kind, of = ""] = what.split(":")
    if (kind === "claim") return { persistentVolumeClaim: { claimName: of } }
    if (kind === "own") return { ephemeral: {} }
    return kind === "ebs" ? { awsElasticBlockStore: { volumeID: `aws://zone/${of}` } } : { secret: {} }
  }
  return {
    metadata: { namespace: "test", name, uid: name },
    spec: {
      containers: [],
      volumes: volumes.map((what) => ({ name: what.split(":")[1] ?? "none", ...volumeOf(what) })),
    },
    status: {},
  } as unknown as Pod
}

interface Given {
  readonly title: string
  readonly pod: readonly string[]
  readonly there?: readonly (readonly string[])[]
  readonly attached?: readonly string[]
  /** Most volumes by driver; `unlimited` is a driver that names no count. */
  readonly limits?: Readonly<Record<string, number | "unlimited">>
  /** Ephemeral volumes whose claims belong to somebody else. */
  readonly foreign?: readonly string[]
  readonly wants: string | undefined
}

function objectsFor({ attached = [], limits, foreign = [] }: Given): VolumeObjects {
  const claims = new Map<string, PersistentVolumeClaim>()
  const claim = (name: string, spec: object, owner?: string) =>
    claims.set(name, {
      metadata: {
        namespace: "test",
        name,
        ...(owner === undefined ? {} : { ownerReferences: [{ controller: true, uid: owner }] }),
      },
      spec,
    } as unknown as PersistentVolumeClaim)
  for (const name of Object.keys(VOLUMES)) claim(name, { volumeName: name })
  for (const [name, storageClassName] of Object.entries(UNBOUND))
    claim(name, { storageClassName, ...(name === "lost" ? { volumeName: "missing" } : {}) })
  for (const name of ["new-x", "there-0-x"])
    claim(name, { volumeName: name === "new-x" ? "b" : "a" }, foreign.includes(name) ? "stranger" : name.slice(0, -2))
  const volume = (name: string) => {
    const driver = VOLUMES[name]
    const spec =
      driver === "ebs"
        ? { awsElasticBlockStore: { volumeID: "aws://zone/vol-old" } }
        : { csi: { driver, volumeHandle: name } }
    return driver === undefined ? undefined : ({ metadata: { name }, spec } as unknown as PersistentVolume)
  }
  return {
    claim: (_, name) => claims.get(name),
    volume,
    volumesFor: () => [],
    storageClass: (name) =>
      PROVISIONERS[name] === undefined ? undefined : ({ provisioner: PROVISIONERS[name] } as unknown as StorageClass),
    csiNode: () =>
      limits === undefined
        ? undefined
        : ({
            spec: {
              drivers: Object.entries(limits).map(([name, count]) => ({
                name,
                ...(count === "unlimited" ? {} : { allocatable: { count } }),
              })),
            },
          } as unknown as CSINode),
    attachments: () =>
      attached.map(
        (name) =>
          ({
            spec: { attacher: VOLUMES[name], source: { persistentVolumeName: name } },
          }) as unknown as VolumeAttachment,
      ),
  }
}

const FULL = "node(s) exceed max volume count"
const MISSING = 'looking up PVC test/nothing: persistentvolumeclaims "nothing" not found'
const rows: readonly Given[] = [
  {
    title: "with room accepts the pod",
    pod: ["claim:a"],
    there: [["claim:b"]],
    limits: { [DRIVER]: 2 },
    wants: undefined,
  },
  {
    title: "that is full refuses the pod",
    pod: ["claim:a"],
    there: [["claim:b"]],
    limits: { [DRIVER]: 1 },
    wants: FULL,
  },
  { title: "counts all volumes of the new pod", pod: ["claim:a", "claim:b"], limits: { [DRIVER]: 1 }, wants: FULL },
  {
    title: "counts a volume of several pods once",
    pod: ["claim:a"],
    there: [["claim:a"], ["claim:a"], ["claim:b"]],
    limits: { [DRIVER]: 2 },
    wants: undefined,
  },
  {
    title: "counts attached volumes without a pod",
    pod: ["claim:a"],
    attached: ["b", "c"],
    limits: { [DRIVER]: 2 },
    wants: FULL,
  },
  {
    title: "counts attached volumes of its pods once",
    pod: ["claim:a"],
    there: [["claim:b"]],
    attached: ["b"],
    limits: { [DRIVER]: 2 },
    wants: undefined,
  },
  {
    title: "counts attached volumes of the new pod once",
    pod: ["claim:a"],
    attached: ["a"],
    limits: { [DRIVER]: 1 },
    wants: undefined,
  },
  {
    title: "counts each driver separately",
    pod: ["claim:a"],
    there: [["claim:other"]],
    limits: { [DRIVER]: 1 },
    wants: undefined,
  },
  {
    title: "whose driver has no limit accepts any number",
    pod: ["claim:a"],
    there: [["claim:b", "claim:c"]],
    limits: { [DRIVER]: "unlimited" },
    wants: undefined,
  },
  {
    title: "with limits for other drivers only accepts any number",
    pod: ["claim:a", "claim:b"],
    limits: { "other.io": 1 },
    wants: undefined,
  },
  { title: "without a CSINode accepts any number", pod: ["claim:a", "claim:b"], wants: undefined },
  {
    title: "counts claims that are not bound, by their class",
    pod: ["claim:a"],
    there: [["claim:to-be", "claim:to-be-2"]],
    limits: { [DRIVER]: 2 },
    wants: FULL,
  },
  {
    title: "counts claims whose volume is gone, by their class",
    pod: ["claim:a"],
    there: [["claim:lost"]],
    limits: { [DRIVER]: 1 },
    wants: FULL,
  },
  {
    title: "does not count claims without a class, or whose class does not exist",
    pod: ["claim:a"],
    there: [["claim:classless", "claim:no-such-class"]],
    limits: { [DRIVER]: 1 },
    wants: undefined,
  },
  {
    title: "refuses a pod whose claim does not exist",
    pod: ["claim:nothing"],
    limits: { [DRIVER]: 1 },
    wants: MISSING,
  },
  {
    title: "ignores pods whose claim was deleted",
    pod: ["claim:a"],
    there: [["claim:nothing"]],
    limits: { [DRIVER]: 1 },
    wants: undefined,
  },
  {
    title: "counts in-tree volumes whose driver became a CSI driver",
    pod: ["claim:e"],
    there: [["claim:old"]],
    limits: { [EBS]: 1 },
    wants: FULL,
  },
  {
    title: "counts claims of classes whose provisioner became a CSI driver",
    pod: ["claim:e"],
    there: [["claim:to-be-old"]],
    limits: { [EBS]: 1 },
    wants: FULL,
  },
  {
    title: "counts in-tree volumes in the pod's spec",
    pod: ["ebs:vol-1"],
    there: [["ebs:vol-2"]],
    limits: { [EBS]: 1 },
    wants: FULL,
  },
  {
    title: "counts the same volume once",
    pod: ["ebs:vol-1"],
    there: [["ebs:vol-1"]],
    limits: { [EBS]: 1 },
    wants: undefined,
  },
  { title: "counts ephemeral volumes", pod: ["own:x"], there: [["own:x"]], limits: { [DRIVER]: 1 }, wants: FULL },
  {
    title: "accepts an ephemeral volume if there is room",
    pod: ["own:x"],
    there: [["claim:a"]],
    limits: { [DRIVER]: 2 },
    wants: undefined,
  },
  {
    title: "refuses an ephemeral volume whose claim belongs to another object",
    pod: ["own:x"],
    limits: { [DRIVER]: 2 },
    foreign: ["new-x"],
    wants: "PVC test/new-x was not created for pod test/new (pod is not owner)",
  },
]

test.each(rows)("a node $title", (given) => {
  // given
  const info = new NodeInfo({ metadata: { name: "n" }, spec: {}, status: {} } as unknown as Node)
  for (const [index, volumes] of (given.there ?? []).entries()) {
    const pod = podWith(`there-${index}`, ...volumes)
    info.pods.set(pod.metadata.uid!, pod)
  }
  const plugin = nodeVolumeLimits(objectsFor(given))
  const pod = podWith("new", ...given.pod)
  // when
  expect(plugin.preFilter!(new Map(), pod, undefined as never)).toMatchObject({ code: "Success" })
  const { code, reasons } = plugin.filter!(new Map(), pod, info)
  // then
  expect(reasons[0]).toBe(given.wants!)
  expect(code).toBe(
    given.wants === undefined
      ? "Success"
      : given.wants === FULL
        ? "Unschedulable"
        : given.wants === MISSING
          ? "UnschedulableAndUnresolvable"
          : "Error",
  )
})

test("a pod without attachable volumes is skipped", () => {
  const plugin = nodeVolumeLimits(objectsFor({ title: "", pod: [], wants: undefined }))
  expect(plugin.preFilter!(new Map(), podWith("new", "secret"), undefined as never)).toMatchObject({ code: "Skip" })
})

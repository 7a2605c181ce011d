import type { PersistentVolumeClaim } from "../../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { nearest } from "../../names/suggest.ts"
import { claimNamesOf } from "../../pods/pod-claims.ts"
import { finding, type Finding } from "../answer.ts"
import { doctor, healthy, unwell, type Ward } from "../doctor.ts"
import { eventLine, eventsOf } from "../events.ts"
import { CLAIMS, PODS, STORAGE_CLASSES, VOLUMES } from "../reading/kinds.ts"
import { misfit, NO_PROVISIONER } from "./misfit.ts"
import { command } from "../command.ts"
import { changedAt, USUAL_MS, within } from "../under-way.ts"

const DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"

export const claimDoctor = doctor(CLAIMS, async (claim, ward) => {
  const { phase } = claim.status
  if (phase === "Bound") return resizing(claim, ward)
  if (phase === "Lost")
    return unwell("is lost", [
      finding(
        "volume-lost",
        `PersistentVolume ${claim.spec.volumeName}, to which it was bound, does not exist any more`,
      ),
    ])
  return unwell("is not bound", [await pending(claim, ward)])
})

async function resizing(claim: PersistentVolumeClaim, ward: Ward) {
  const volume = claim.spec.volumeName ?? ""
  if ((await ward.reader.get(VOLUMES, undefined, volume)) === undefined)
    return unwell("is bound to nothing", [
      finding("volume-lost", `PersistentVolume ${volume}, to which it is bound, does not exist`),
    ])
  const bad = (claim.status.conditions ?? []).filter(
    ({ type, status }) => /Error|Failed/.test(type) && status === "True",
  )
  const waits = claim.status.conditions?.some(
    ({ type, status }) => type === "FileSystemResizePending" && status === "True",
  )
  return bad.length === 0
    ? healthy(`is bound to ${volume}`, waits === true ? [grownVolume] : [])
    : unwell(
        "cannot be resized",
        bad.map(({ type, message = "" }) => finding("resize-failed", `${type}: ${message}`)),
      )
}

const grownVolume = finding(
  "resize-waits-for-pod",
  "its volume has grown, and the file system on it grows when a node mounts it: for a pod that is started after that",
  { weight: "note" },
)

async function pending(claim: PersistentVolumeClaim, ward: Ward): Promise<Finding> {
  const { spec, metadata } = claim
  const usual = (one: Finding) => within(one, ward.reader.now, changedAt(claim), USUAL_MS)
  const events = (await eventsOf(ward.reader, claim)).slice(0, 3)
  const evidence = events.map(eventLine)
  const classes = await ward.reader.list(STORAGE_CLASSES)
  const names = classes.map(({ metadata: { name = "" } }) => name)
  const wanted = spec.storageClassName
  if (spec.volumeName) return namedVolume(claim, ward, evidence)
  if (wanted === undefined) {
    const standard = classes.filter((one) => one.metadata.annotations?.[DEFAULT_CLASS] === "true")
    if (standard.length === 0)
      return finding(
        "storage-class-missing",
        `it names no storage class, and the cluster has no default one${names.length === 0 ? "" : `; there are ${names.join(", ")}`}, and ${await whyNoVolume(claim, ward)}`,
        {
          evidence,
          hints: names.map(
            (name) =>
              `make ${name} the default: ${command`kubectl annotate storageclass ${name} ${DEFAULT_CLASS}=true`}`,
          ),
        },
      )
  }
  if (wanted === undefined || wanted === "")
    return finding("no-volume-fits", `it is bound to a volume that exists, and ${await whyNoVolume(claim, ward)}`, {
      evidence,
    })
  const found = classes.find((one) => one.metadata.name === wanted)
  const ofClass = (await ward.reader.list(VOLUMES)).some((volume) => volume.spec.storageClassName === wanted)
  if (found === undefined && ofClass)
    return finding(
      "no-volume-fits",
      `volumes of class ${wanted} are made by hand, for there is no such StorageClass, and ${await whyNoVolume(claim, ward)}`,
      { evidence },
    )
  if (found === undefined) {
    const near = nearest(wanted, names)
    return finding(
      "storage-class-missing",
      `StorageClass ${wanted} does not exist${near === undefined ? (names.length === 0 ? "; the cluster has none" : `; there are ${names.join(", ")}`) : `; there is ${near}`}, and ${await whyNoVolume(claim, ward)}`,
      {
        evidence,
        hints: ["the class of a claim cannot be changed: delete the claim and create it with another class"],
      },
    )
  }
  const failed = events.find(({ reason }) => reason === "ProvisioningFailed")
  if (failed !== undefined)
    return finding("provisioning-failed", `${found.provisioner} cannot make its volume: ${failed.message ?? ""}`, {
      evidence,
    })
  const users = (await ward.reader.list(PODS, metadata.namespace)).filter((pod) =>
    claimNamesOf(pod).includes(metadata.name ?? ""),
  )
  const chosen = metadata.annotations?.["volume.kubernetes.io/selected-node"]
  if (found.volumeBindingMode === "WaitForFirstConsumer" && chosen === undefined) {
    if (users.length === 0)
      return usual(
        finding(
          "claim-waits-for-pod",
          `no pod uses it yet: class ${wanted} makes its volume when the first one is scheduled (WaitForFirstConsumer)`,
          { evidence, weight: "waiting" },
        ),
      )
    const unscheduled = unscheduledUser(users)
    if (unscheduled !== undefined)
      return finding(
        "claim-without-scheduler",
        `class ${wanted} makes its volume where the scheduler puts the first pod (WaitForFirstConsumer), and pod ` +
          `${unscheduled.metadata.name} is on node ${unscheduled.spec.nodeName} without the scheduler: its nodeName was set`,
        {
          evidence,
          hints: [
            `leave out nodeName of the pod, and choose its node by a nodeSelector, kubernetes.io/hostname: ${unscheduled.spec.nodeName}`,
          ],
        },
      )
    if (found.provisioner !== NO_PROVISIONER || (await someVolumeFits(claim, ward)))
      return usual(
        finding("claim-waits-for-pod", `it waits until pod ${users[0]!.metadata.name} is scheduled`, {
          weight: "waiting",
          evidence,
        }),
      )
  }
  if (found.provisioner === NO_PROVISIONER)
    return finding("no-volume-fits", `class ${wanted} makes no volumes, and ${await whyNoVolume(claim, ward)}`, {
      evidence,
    })
  return usual(
    finding(
      "provisioner-silent",
      `it waits for ${found.provisioner} to make its volume; perhaps this provisioner does not run`,
      { evidence, sure: false, weight: "waiting" },
    ),
  )
}

/** A pod that has a node, of which the scheduler has not told the claim: it does so before it binds a pod. */
const unscheduledUser = (users: readonly Pod[]): Pod | undefined =>
  users.every(({ spec }) => spec.nodeName !== undefined && spec.nodeName !== "") ? users[0] : undefined

async function namedVolume(
  claim: PersistentVolumeClaim,
  { reader }: Ward,
  evidence: readonly string[],
): Promise<Finding> {
  const name = claim.spec.volumeName ?? ""
  const volume = await reader.get(VOLUMES, undefined, name)
  if (volume === undefined)
    return finding("volume-missing", `it names PersistentVolume ${name}, which does not exist`, { evidence })
  return finding(
    "no-volume-fits",
    `it names PersistentVolume ${name}, which ${misfit(claim, volume) ?? "is not bound to it yet"}`,
    {
      evidence,
    },
  )
}

const someVolumeFits = async (claim: PersistentVolumeClaim, { reader }: Ward): Promise<boolean> =>
  (await reader.list(VOLUMES)).some((volume) => misfit(claim, volume) === undefined)

/** Returns why no volume that exists is bound to a claim. */
async function whyNoVolume(claim: PersistentVolumeClaim, { reader }: Ward): Promise<string> {
  const volumes = await reader.list(VOLUMES)
  const ofClass = volumes.filter(({ spec }) => (spec.storageClassName ?? "") === (claim.spec.storageClassName ?? ""))
  if (ofClass.length === 0) return volumes.length === 0 ? "there is no volume" : "no volume has this class"
  return ofClass
    .slice(0, 5)
    .map((volume) => `volume ${volume.metadata.name} ${misfit(claim, volume) ?? "fits"}`)
    .join("; ")
}

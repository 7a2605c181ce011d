import type { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import type { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import {
  BETA_STORAGE_CLASS,
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  PROVISIONED_BY,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
} from "../../../pkg/api/core/v1/persistentvolume/volume-matching.ts"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import type { Controller, ReconcileContext } from "../../../pkg/controller/controller.ts"
import { MIGRATED_TO } from "./migration.ts"

/**
 * One look of a controller at one object, in a world of a few claims, volumes, classes and pods. Claims and volumes are
 * written as lines of words, before and after:
 *
 *     volume  "a 10Gi Bound for=data/u chosen Delete class=gold"
 *     claim   "1Gi Pending volume=a chosen complete"
 *
 * `for=` is the claim of a volume, with its uid after the slash; the claim `data` has the uid `u`. `chosen` says that a
 * controller bound it, `complete` that the claim's binding is complete.
 */
export interface World {
  readonly volumes?: readonly string[]
  readonly claim?: string
  /** The claim is stored, but the informers do not show it yet; or they show one with this uid. */
  readonly unseen?: true | string
  readonly others?: readonly KubeObject[]
}

/** The objects after the sync, including unchanged ones. */
export interface Outcome {
  readonly volumes: readonly string[]
  readonly claim: string | undefined
  /** `<type> <reason>`, or all of one with a message that was asked for. */
  readonly events: readonly string[]
}

/** Reconciles the object with this key once. */
export async function syncOnce<T extends KubeObject>(
  controller: Controller<T>,
  key: string,
  { volumes = [], claim, unseen, others = [] }: World,
): Promise<Outcome> {
  const stored = new Map<string, KubeObject>()
  const idOf = ({ kind, metadata }: KubeObject) => `${kind} ${keyFrom(metadata)}`
  const claims = claim === undefined ? [] : [claimOf(claim)]
  const given: readonly KubeObject[] = [...volumes.map(volumeOf), ...claims, ...others]
  for (const object of given) stored.set(idOf(object), object)
  const shown = given.flatMap((object) => {
    if (object.kind !== "PersistentVolumeClaim" || unseen === undefined) return [object]
    return unseen === true ? [] : [{ ...object, metadata: { ...object.metadata, uid: unseen } }]
  })
  const put = (object: KubeObject) => {
    const { resourceVersion } = object.metadata
    const written = { ...object, metadata: { ...object.metadata, resourceVersion: `${Number(resourceVersion) + 1}` } }
    stored.set(idOf(written), written)
    return Promise.resolve(written)
  }
  const events: string[] = []
  const ofKind = ({ kind }: Resource) => shown.filter((object) => object.kind === kind)
  const context = {
    client: {
      // A write to the object leaves its status, a write to its status all else.
      update: (_: Resource, object: KubeObject) => put({ ...stored.get(idOf(object)), ...object }),
      updateStatus: (_: Resource, object: KubeObject) => put({ ...stored.get(idOf(object)), ...object }),
      get({ kind }: Resource, ref: KubeObject["metadata"]) {
        const found = stored.get(`${kind} ${keyFrom(ref)}`)
        return found === undefined ? Promise.reject(new ApiError("NotFound", "not found")) : Promise.resolve(found)
      },
    },
    informers: {
      of: (resource: Resource) => ({
        get: (wanted: string) => ofKind(resource).find(({ metadata }) => keyFrom(metadata) === wanted),
        list: () => ofKind(resource),
        by: ({ of }: { of(object: KubeObject): readonly string[] }, value: string) =>
          ofKind(resource).filter((object) => of(object).includes(value)),
      }),
    },
    events: {
      event: (about: KubeObject, type: string, reason: string) =>
        void events.push(`${type} ${reason}${about.kind === "PersistentVolume" ? " (volume)" : ""}`),
    },
  } as unknown as ReconcileContext
  await controller.reconcile(key, context)
  const all = [...stored.values()]
  const after = all.find(({ kind }) => kind === "PersistentVolumeClaim")
  return {
    volumes: all.filter(({ kind }) => kind === "PersistentVolume").map((one) => volumeLine(one as PersistentVolume)),
    claim: after === undefined ? undefined : claimLine(after as PersistentVolumeClaim),
    events,
  }
}

const FLAGS = { complete: BIND_COMPLETED, chosen: BOUND_BY_CONTROLLER } as const
const NAMED = {
  made: PROVISIONED_BY,
  node: SELECTED_NODE,
  migrated: MIGRATED_TO,
  provisioner: STORAGE_PROVISIONER,
  "beta-class": BETA_STORAGE_CLASS,
  before: "volume.alpha.kubernetes.io/pre-resize-capacity",
} as const

/** The words of a line: those with a value, and the others. */
function wordsOf(line: string) {
  const words = line.split(" ")
  const values = new Map(words.flatMap((word) => (word.includes("=") ? [word.split("=") as [string, string]] : [])))
  const has = (word: string) => words.includes(word)
  const one = <T extends string>(known: readonly T[], otherwise: T) => known.find(has) ?? otherwise
  const annotations = Object.fromEntries([
    ...Object.entries(FLAGS).flatMap(([word, name]) => (has(word) ? [[name, "yes"]] : [])),
    ...Object.entries(NAMED).flatMap(([word, name]) => (values.has(word) ? [[name, values.get(word)]] : [])),
  ]) as Record<string, string>
  return { words, values, has, one, annotations }
}

const listOf = (value: string | undefined, otherwise: readonly string[]) => value?.split("+") ?? otherwise
const MODES = ["ReadWriteOnce"]
const BLOCK = ["Block", "Filesystem"] as const
const PHASES = ["Available", "Bound", "Released", "Failed", "Pending", "Lost"] as const

function volumeOf(line: string): PersistentVolume {
  const { words, values, has, one, annotations } = wordsOf(line)
  const [claim = "", uid] = values.get("for")?.split("/") ?? []
  const finalizers = values.get("finalizers")
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: {
      name: words[0],
      resourceVersion: "1",
      annotations,
      labels: { color: values.get("color") ?? "none" },
      ...(finalizers === undefined ? {} : { finalizers: finalizers.split("+") }),
      ...(has("going") ? { deletionTimestamp: "2030-01-01T00:00:00Z" } : {}),
    },
    spec: {
      capacity: { storage: words[1] },
      accessModes: listOf(values.get("modes"), MODES),
      persistentVolumeReclaimPolicy: one(["Delete", "Recycle", "Retain"], "Retain"),
      storageClassName: values.get("class") ?? "",
      volumeAttributesClassName: values.get("attributes"),
      volumeMode: one(BLOCK, "Filesystem"),
      ...(has("csi") ? { csi: { driver: "csi.example.com", volumeHandle: "h" } } : { hostPath: { path: "/disk" } }),
      ...(claim === "" ? {} : { claimRef: { namespace: "default", name: claim, uid } }),
    },
    status: { phase: one(PHASES, "Pending"), ...(values.has("says") ? { message: values.get("says") } : {}) },
  } as unknown as PersistentVolume
}

function claimOf(line: string): PersistentVolumeClaim {
  const { words, values, one, annotations } = wordsOf(line)
  const phase = one(PHASES, "Pending")
  const current = values.get("current")
  const color = values.get("color")
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { namespace: "default", name: "data", uid: "u", resourceVersion: "1", annotations },
    spec: {
      accessModes: listOf(values.get("modes"), MODES),
      resources: { requests: { storage: words[0] } },
      volumeMode: one(BLOCK, "Filesystem"),
      ...(color === undefined ? {} : { selector: { matchLabels: { color } } }),
      ...(values.has("class") ? { storageClassName: values.get("class") } : {}),
      ...(values.has("volume") ? { volumeName: values.get("volume") } : {}),
      ...(values.has("attributes") ? { volumeAttributesClassName: values.get("attributes") } : {}),
    },
    status: {
      phase,
      ...(phase === "Bound" ? { accessModes: MODES, capacity: { storage: values.get("has") ?? words[0] } } : {}),
      ...(current === undefined ? {} : { currentVolumeAttributesClassName: current }),
    },
  } as unknown as PersistentVolumeClaim
}

const marksOf = (annotations: Readonly<Record<string, string>> = {}): readonly string[] => [
  ...Object.entries(FLAGS).flatMap(([word, name]) => (name in annotations ? [word] : [])),
  ...Object.entries(NAMED).flatMap(([word, name]) => (name in annotations ? [`${word}=${annotations[name]!}`] : [])),
]
/** Words in the order of the alphabet after the first ones, so that lines can be compared. */
const lineOf = (first: readonly string[], rest: readonly (string | false | undefined)[]): string =>
  [...first, ...rest.filter((word) => typeof word === "string").toSorted()].join(" ")
const sorted = (count: number, line: string): string => {
  const words = line.split(" ")
  return lineOf(words.slice(0, count), words.slice(count))
}

/** A wanted line with its words in the order of an outcome's. */
export const wantedVolume = (line: string): string => volumeLine(volumeOf(line))
export const wantedClaim = (line: string): string => sorted(2, line)

function volumeLine({ metadata, spec, status }: PersistentVolume): string {
  const { claimRef, persistentVolumeReclaimPolicy: policy, storageClassName, volumeAttributesClassName, csi } = spec
  const { color } = metadata.labels ?? {}
  return lineOf(
    [metadata.name!, spec.capacity!["storage"]!, status.phase!],
    [
      claimRef !== undefined && `for=${claimRef.name}${claimRef.uid === undefined ? "" : `/${claimRef.uid}`}`,
      policy !== "Retain" && policy,
      storageClassName !== "" && `class=${storageClassName}`,
      volumeAttributesClassName !== undefined && `attributes=${volumeAttributesClassName}`,
      spec.volumeMode === "Block" && "Block",
      color !== "none" && `color=${color}`,
      csi !== undefined && "csi",
      metadata.finalizers !== undefined &&
        metadata.finalizers.length > 0 &&
        `finalizers=${metadata.finalizers.join("+")}`,
      metadata.deletionTimestamp !== undefined && "going",
      ...marksOf(metadata.annotations),
    ],
  )
}

/** `has=` is the capacity of a bound claim where it is not what the claim asks for. */
function claimLine({ metadata, spec, status }: PersistentVolumeClaim): string {
  const asked = spec.resources.requests!["storage"]!
  const has = status.capacity?.["storage"]
  const { matchLabels } = spec.selector ?? {}
  return lineOf(
    [asked, status.phase!],
    [
      spec.volumeName !== undefined && spec.volumeName !== "" && `volume=${spec.volumeName}`,
      spec.storageClassName !== undefined && `class=${spec.storageClassName}`,
      spec.volumeAttributesClassName !== undefined && `attributes=${spec.volumeAttributesClassName}`,
      status.currentVolumeAttributesClassName !== undefined && `current=${status.currentVolumeAttributesClassName}`,
      spec.volumeMode === "Block" && "Block",
      matchLabels !== undefined && `color=${matchLabels["color"]}`,
      has !== undefined && has !== asked && `has=${has}`,
      (spec.accessModes ?? []).join("+") !== MODES.join("+") && `modes=${(spec.accessModes ?? []).join("+")}`,
      ...marksOf(metadata.annotations),
    ],
  )
}

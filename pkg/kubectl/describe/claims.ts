import type { ObjectMeta } from "../../apimachinery/meta.ts"
import { ageOf } from "../../apimachinery/scalars/time.ts"
import type { PersistentVolumeClaim } from "../../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import type { Describing } from "./describing.ts"
import { describeAnnotations, describeLabels } from "./metadata.ts"
import type { PrefixWriter } from "./prefix-writer.ts"
import { quantityText } from "./resources.ts"

/** A claim, or the template of one, which has no status. */
export interface ClaimOrTemplate {
  readonly metadata: ObjectMeta
  readonly spec: PersistentVolumeClaim["spec"]
  readonly status?: PersistentVolumeClaim["status"]
}

/** Where the class of a volume stood before there was a field for it. */
const CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"

/** Returns the StorageClass of a claim or of a volume. */
export const classOf = (
  { annotations }: ObjectMeta,
  { storageClassName }: { readonly storageClassName?: string | undefined },
): string => annotations?.[CLASS_ANNOTATION] ?? storageClassName ?? ""

const MODES = [
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
] as const

/** Returns the short names of access modes, always in the same order. */
export const accessModesText = (modes: readonly string[] = []): string =>
  MODES.filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(",")

/** Writes a claim. `whole` is false for a template, whose names and status mean nothing. */
export function describeClaim(
  w: PrefixWriter,
  { metadata, spec, status }: ClaimOrTemplate,
  { now }: Describing,
  whole: boolean,
): void {
  const { deletionTimestamp } = metadata
  if (whole) {
    w.row(0, "Name:", metadata.name ?? "")
    w.row(0, "Namespace:", metadata.namespace ?? "")
  }
  w.row(0, "StorageClass:", classOf(metadata, spec))
  if (whole)
    w.row(
      0,
      "Status:",
      deletionTimestamp ? `Terminating (lasts ${ageOf(deletionTimestamp, now())})` : (status?.phase ?? ""),
    )
  const { volumeName = "", volumeMode, dataSource } = spec
  w.row(0, "Volume:", volumeName)
  describeLabels(w, "Labels", metadata.labels)
  describeAnnotations(w, "Annotations", metadata.annotations)
  if (whole) w.row(0, "Finalizers:", `[${(metadata.finalizers ?? []).join(" ")}]`)
  const isBound = volumeName !== ""
  w.row(0, "Capacity:", isBound ? quantityText(status?.capacity?.["storage"]) : "")
  w.row(0, "Access Modes:", isBound ? accessModesText(status?.accessModes) : "")
  if (volumeMode) w.row(0, "VolumeMode:", volumeMode)
  if (!dataSource) return
  w.row(0, "DataSource:")
  if (typeof dataSource.apiGroup === "string") w.row(1, "APIGroup:", dataSource.apiGroup)
  w.row(1, "Kind:", dataSource.kind)
  w.row(1, "Name:", dataSource.name)
}

import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  forbiddenField,
  invalidValue,
  notFoundField,
  notSupported,
  required,
} from "../../../../apimachinery/validation/field-errors.ts"
import type { Container, EphemeralContainer, VolumeDevice, VolumeMount } from "../container/container.ts"
import { localPath, withoutBacksteps } from "../path-validation.ts"
import type { Volume } from "./volume.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/**
 * Validates where volumes appear in a container. Source: ValidateVolumeMounts and ValidateVolumeDevices in
 * pkg/apis/core/validation/validation.go.
 */

/** `volumes` are the valid volumes of the pod, by name. */
export function validateMounts(
  mounts: readonly VolumeMount[],
  devices: readonly VolumeDevice[],
  volumes: ReadonlyMap<string, Volume>,
  container: Container | EphemeralContainer,
): readonly Cause[] {
  const taken = new Set<string>()
  const causes: Cause[] = []
  for (let i = 0; i < mounts.length; i++) {
    const { name, mountPath, subPath = "", subPathExpr = "", mountPropagation } = mounts[i]!
    if (name === "") causes.push(required(at("", i, "name")))
    if (!volumes.has(name)) causes.push(notFoundField(at("", i, "name"), name))
    if (mountPath === "") causes.push(required(at("", i, "mountPath")))
    if (taken.has(mountPath)) causes.push(invalidValue(at("", i, "mountPath"), mountPath, "must be unique"))
    taken.add(mountPath)
    if (devices.some((device) => device.name === name))
      causes.push(invalidValue(at("", i, "name"), name, "must not already exist in volumeDevices"))
    if (devices.some(({ devicePath }) => devicePath === mountPath))
      causes.push(invalidValue(at("", i, "mountPath"), mountPath, "must not already exist as a path in volumeDevices"))
    // upstream gives the path of the list instead of that of the item here
    if (subPath !== "") pushAll(causes, localPath("subPath", subPath))
    if (subPathExpr !== "") {
      if (subPath !== "")
        causes.push(
          invalidValue(at("", i, "subPathExpr"), subPathExpr, "subPathExpr and subPath are mutually exclusive"),
        )
      pushAll(causes, localPath("subPathExpr", subPathExpr))
    }
    if (mountPropagation !== undefined && !PROPAGATIONS.includes(mountPropagation))
      causes.push(notSupported("mountPropagation", mountPropagation, PROPAGATIONS))
    if (mountPropagation === "Bidirectional" && container.securityContext?.privileged !== true)
      causes.push(
        forbiddenField(
          "mountPropagation",
          "Bidirectional mount propagation is available only to privileged containers",
        ),
      )
    pushAll(causes, recursiveReadOnlyFaults(mounts[i]!))
  }
  return causes
}

const PROPAGATIONS: readonly string[] = ["Bidirectional", "HostToContainer", "None"]
const READ_ONLY_MODES: readonly string[] = ["Disabled", "Enabled", "IfPossible"]

function recursiveReadOnlyFaults({ recursiveReadOnly, readOnly, mountPropagation }: VolumeMount): readonly Cause[] {
  if (recursiveReadOnly === undefined || recursiveReadOnly === "Disabled") return []
  if (!READ_ONLY_MODES.includes(recursiveReadOnly))
    return [notSupported("recursiveReadOnly", recursiveReadOnly, READ_ONLY_MODES)]
  const causes: Cause[] = []
  if (readOnly !== true) causes.push(forbiddenField("recursiveReadOnly", "may only be specified when readOnly is true"))
  if (mountPropagation !== undefined && mountPropagation !== "None")
    causes.push(
      forbiddenField("recursiveReadOnly", "may only be specified when mountPropagation is None or not specified"),
    )
  return causes
}

export function validateDevices(
  devices: readonly VolumeDevice[],
  mounts: readonly VolumeMount[],
  volumes: ReadonlyMap<string, Volume>,
): readonly Cause[] {
  const [names, paths] = [new Set<string>(), new Set<string>()]
  return devices.flatMap(({ name, devicePath }, i) => {
    const here = at("", i)
    const causes: Cause[] = []
    const volume = volumes.get(name)
    if (names.has(name)) causes.push(invalidValue(at(here, "name"), name, "must be unique"))
    if (volume === undefined) causes.push(notFoundField(at(here, "name"), name))
    else if (volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined)
      causes.push(
        invalidValue(
          at(here, "name"),
          name,
          "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
        ),
      )
    if (paths.has(devicePath)) causes.push(invalidValue(at(here, "devicePath"), devicePath, "must be unique"))
    if (withoutBacksteps("", devicePath).length > 0)
      causes.push(invalidValue(at(here, "devicePath"), devicePath, "can not contain backsteps ('..')"))
    else paths.add(devicePath)
    if (mounts.some((mount) => mount.name === name))
      causes.push(invalidValue(at(here, "name"), name, "must not already exist in volumeMounts"))
    if (mounts.some(({ mountPath }) => mountPath === devicePath))
      causes.push(invalidValue(at(here, "devicePath"), devicePath, "must not already exist as a path in volumeMounts"))
    if (name !== "") names.add(name)
    return causes
  })
}

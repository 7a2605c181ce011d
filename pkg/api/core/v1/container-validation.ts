import type { Cause } from "../../../apimachinery/errors.ts"
import { at, duplicate, forbiddenField, invalidValue, notFoundField, required } from "../../../apimachinery/field-errors.ts"
import { isDNS1123Label, isPortName, isPortNumber } from "../../../apimachinery/names.ts"
import type { Container, ContainerPort, EphemeralContainer, VolumeDevice, VolumeMount } from "./container.ts"
import { validateEnv, validateEnvFrom } from "./env-validation.ts"
import { checked, localPath, withoutBacksteps } from "./path-validation.ts"
import type { PodSpec } from "./podspec.ts"
import { validateLifecycle, validateProbe } from "./probe-validation.ts"
import { validateResources } from "./resources-validation.ts"
import { validateSecurityContext } from "./securitycontext-validation.ts"
import type { Volume } from "./volume.ts"

/** Rules of containers, init containers and ephemeral containers. Source: validateContainers and its neighbours in pkg/apis/core/validation/validation.go. */

interface Surroundings {
  readonly spec: PodSpec
  readonly volumes: ReadonlyMap<string, Volume>
  readonly claims: ReadonlySet<string>
}

export function validateContainers(spec: PodSpec, path: string): readonly Cause[] {
  const around: Surroundings = {
    spec,
    volumes: new Map((spec.volumes ?? []).map((volume) => [volume.name, volume])),
    claims: new Set((spec.resourceClaims ?? []).map(({ name }) => name)),
  }
  return [...regular(around, at(path, "containers")), ...init(around, at(path, "initContainers")), ...ephemeral(around, at(path, "ephemeralContainers"))]
}

function regular(around: Surroundings, path: string): readonly Cause[] {
  const { containers } = around.spec
  const names = new Set<string>()
  const causes = containers.flatMap((container, i) => {
    const here = at(path, i)
    const found: Cause[] = [...common(container, around, here), ...takeName(container.name, names, here), ...lifeOf(container, around.spec, here)]
    if (container.restartPolicy === undefined && (container.restartPolicyRules ?? []).length > 0) found.push(required(at(here, "restartPolicy"), "must specify restartPolicy when restart rules are used"))
    return found
  })
  return [...causes, ...hostPortConflicts(containers, path)]
}

const SIDECAR_ONLY = "may not be set for init containers without restartPolicy=Always"

function init(around: Surroundings, path: string): readonly Cause[] {
  const names = new Set(around.spec.containers.map(({ name }) => name))
  return (around.spec.initContainers ?? []).flatMap((container, i) => {
    const here = at(path, i)
    const causes: Cause[] = [...common(container, around, here), ...takeName(container.name, names, here), ...hostPortConflicts([container], path)]
    if (container.restartPolicy === "Always") return [...causes, ...lifeOf(container, around.spec, here)]
    for (const field of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const)
      if (container[field] !== undefined) causes.push(forbiddenField(at(here, field), SIDECAR_ONLY))
    return causes
  })
}

const EPHEMERAL_FORBIDDEN = ["ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resizePolicy", "restartPolicy", "restartPolicyRules"] as const
const NOT_EPHEMERAL = "cannot be set for an Ephemeral Container"

function ephemeral(around: Surroundings, path: string): readonly Cause[] {
  const { containers, initContainers = [], ephemeralContainers = [] } = around.spec
  const targets = new Set([...containers, ...initContainers].map(({ name }) => name))
  const names = new Set(targets)
  return ephemeralContainers.flatMap((container, i) => {
    const here = at(path, i)
    const causes: Cause[] = [...common(container, around, here), ...trimmedImage(container.image, here), ...takeName(container.name, names, here)]
    const { targetContainerName = "", resources, volumeMounts = [] } = container
    if (targetContainerName !== "" && !targets.has(targetContainerName)) causes.push(notFoundField(at(here, "targetContainerName"), targetContainerName))
    for (const field of EPHEMERAL_FORBIDDEN) if (container[field] !== undefined) causes.push(forbiddenField(at(here, field), NOT_EPHEMERAL))
    if (Object.keys(resources).length > 0) causes.push(forbiddenField(at(here, "resources"), NOT_EPHEMERAL))
    for (const [j, mount] of volumeMounts.entries())
      for (const field of ["subPath", "subPathExpr"] as const)
        if ((mount[field] ?? "") !== "") causes.push(forbiddenField(at(here, "volumeMounts", j, field), NOT_EPHEMERAL))
    return causes
  })
}

function takeName(name: string, taken: Set<string>, path: string): readonly Cause[] {
  if (taken.has(name)) return [duplicate(at(path, "name"), name)]
  taken.add(name)
  return []
}

/** What holds for every container. */
function common(container: Container | EphemeralContainer, { spec, volumes, claims }: Surroundings, path: string): readonly Cause[] {
  const { ports = [], env = [], envFrom = [], volumeMounts = [], volumeDevices = [], resources, resizePolicy = [], securityContext } = container
  const causes: Cause[] = [...checked(at(path, "name"), container.name, isDNS1123Label)]
  if ((container.image ?? "") === "") causes.push(required(at(path, "image")))
  causes.push(
    ...validatePorts(ports, at(path, "ports")), ...validateEnv(env, at(path, "env")), ...validateEnvFrom(envFrom, at(path, "envFrom")),
    ...validateMounts(volumeMounts, volumeDevices, volumes, container, at(path, "volumeMounts")),
    ...validateDevices(volumeDevices, volumeMounts, volumes, at(path, "volumeDevices")),
    ...validateResources(resources, claims, at(path, "resources")),
  )
  for (const [i, { resourceName, restartPolicy }] of resizePolicy.entries()) {
    if (resizePolicy.slice(0, i).some((other) => other.resourceName === resourceName)) causes.push(duplicate(at(path, "resizePolicy", i), resourceName))
    if (spec.restartPolicy === "Never" && restartPolicy !== "NotRequired") causes.push(invalidValue(at(path, "resizePolicy"), restartPolicy, "must be 'NotRequired' when `restartPolicy` is 'Never'"))
  }
  if (securityContext !== undefined) causes.push(...validateSecurityContext(securityContext, spec.hostUsers !== false, at(path, "securityContext")))
  return causes
}

function lifeOf(container: Container, spec: PodSpec, path: string): readonly Cause[] {
  const causes: Cause[] = []
  if (container.lifecycle !== undefined) causes.push(...validateLifecycle(container.lifecycle, spec.terminationGracePeriodSeconds, at(path, "lifecycle"), spec.os?.name))
  for (const role of ["livenessProbe", "readinessProbe", "startupProbe"] as const) {
    const probe = container[role]
    if (probe !== undefined) causes.push(...validateProbe(probe, role, at(path, role)))
  }
  return causes
}

/** Of pods, not of templates: an image with spaces around it. */
export const trimmedImage = (image: string | undefined, path: string): readonly Cause[] =>
  image !== undefined && image.trim() !== image ? [invalidValue(at(path, "image"), image, "must not have leading or trailing whitespace")] : []

function validatePorts(ports: readonly ContainerPort[], path: string): readonly Cause[] {
  const names = new Set<string>()
  return ports.flatMap(({ name = "", containerPort }, i) => {
    const here = at(path, i)
    const causes: Cause[] = []
    if (name !== "") {
      const problem = checked(at(here, "name"), name, isPortName)
      causes.push(...problem)
      if (problem.length === 0 && names.has(name)) causes.push(duplicate(at(here, "name"), name))
      names.add(name)
    }
    const wrongNumber = isPortNumber(containerPort)
    if (wrongNumber !== undefined) causes.push(containerPort === 0 ? required(at(here, "containerPort")) : invalidValue(at(here, "containerPort"), containerPort, wrongNumber))
    return causes
  })
}

function hostPortConflicts(containers: readonly Container[], path: string): readonly Cause[] {
  const taken = new Set<string>()
  return containers.flatMap(({ ports = [] }, i) => ports.flatMap(({ hostPort = 0, hostIP = "", protocol }, j) => {
    const port = `${protocol}/${hostIP}/${hostPort}`
    if (hostPort === 0) return []
    if (taken.has(port)) return [duplicate(at(path, i, "ports", j, "hostPort"), port)]
    taken.add(port)
    return []
  }))
}

function validateMounts(mounts: readonly VolumeMount[], devices: readonly VolumeDevice[], volumes: ReadonlyMap<string, Volume>, container: Container | EphemeralContainer, path: string): readonly Cause[] {
  const taken = new Set<string>()
  return mounts.flatMap(({ name, mountPath, subPath = "", subPathExpr = "", mountPropagation, readOnly = false, recursiveReadOnly }, i) => {
    const here = at(path, i)
    const causes: Cause[] = []
    if (!volumes.has(name)) causes.push(notFoundField(at(here, "name"), name))
    if (taken.has(mountPath)) causes.push(invalidValue(at(here, "mountPath"), mountPath, "must be unique"))
    taken.add(mountPath)
    if (devices.some((device) => device.name === name)) causes.push(invalidValue(at(here, "name"), name, "must not already exist in volumeDevices"))
    if (devices.some(({ devicePath }) => devicePath === mountPath)) causes.push(invalidValue(at(here, "mountPath"), mountPath, "must not already exist as a path in volumeDevices"))
    // upstream names the list and not the item in these
    if (subPath !== "") causes.push(...localPath(at(path, "subPath"), subPath))
    if (subPathExpr !== "") {
      if (subPath !== "") causes.push(invalidValue(at(here, "subPathExpr"), subPathExpr, "subPathExpr and subPath are mutually exclusive"))
      causes.push(...localPath(at(path, "subPathExpr"), subPathExpr))
    }
    if (mountPropagation === "Bidirectional" && container.securityContext?.privileged !== true)
      causes.push(forbiddenField(at(path, "mountPropagation"), "Bidirectional mount propagation is available only to privileged containers"))
    if (recursiveReadOnly !== undefined && recursiveReadOnly !== "Disabled") {
      const where = at(path, "recursiveReadOnly")
      if (!readOnly) causes.push(forbiddenField(where, "may only be specified when readOnly is true"))
      if (mountPropagation !== undefined && mountPropagation !== "None") causes.push(forbiddenField(where, "may only be specified when mountPropagation is None or not specified"))
    }
    return causes
  })
}

function validateDevices(devices: readonly VolumeDevice[], mounts: readonly VolumeMount[], volumes: ReadonlyMap<string, Volume>, path: string): readonly Cause[] {
  const [names, paths] = [new Set<string>(), new Set<string>()]
  return devices.flatMap(({ name, devicePath }, i) => {
    const here = at(path, i)
    const causes: Cause[] = []
    const volume = volumes.get(name)
    if (names.has(name)) causes.push(invalidValue(at(here, "name"), name, "must be unique"))
    if (volume === undefined) causes.push(notFoundField(at(here, "name"), name))
    else if (volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined)
      causes.push(invalidValue(at(here, "name"), name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"))
    if (paths.has(devicePath)) causes.push(invalidValue(at(here, "devicePath"), devicePath, "must be unique"))
    if (withoutBacksteps("", devicePath).length > 0) causes.push(invalidValue(at(here, "devicePath"), devicePath, "can not contain backsteps ('..')"))
    if (mounts.some((mount) => mount.name === name)) causes.push(invalidValue(at(here, "name"), name, "must not already exist in volumeMounts"))
    if (mounts.some(({ mountPath }) => mountPath === devicePath)) causes.push(invalidValue(at(here, "devicePath"), devicePath, "must not already exist as a path in volumeMounts"))
    names.add(name)
    paths.add(devicePath)
    return causes
  })
}

import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  forbiddenField,
  invalidValue,
  invalidValues,
  NO_CAUSES,
  notFoundField,
  required,
  within,
} from "../../../../apimachinery/validation/field-errors.ts"
import { isDNS1123Label, isPortName, isPortNumber } from "../../../../apimachinery/validation/names.ts"
import {
  initResizeFaults,
  initRestartFaults,
  resizePolicyFaults,
  restartFaults,
} from "./container-restart-validation.ts"
import type { Container, ContainerPort, EphemeralContainer } from "./container.ts"
import { validateEnv, validateEnvFrom } from "./env-validation.ts"
import { checked } from "../path-validation.ts"
import type { PodSpec } from "../pod/podspec.ts"
import { validateLifecycle, validateProbe } from "./probe-validation.ts"
import { validateResources } from "../resources/resources-validation.ts"
import { validateSecurityContext } from "./securitycontext-validation.ts"
import type { Volume } from "../volume/volume.ts"
import { validateDevices, validateMounts } from "../volume/volumemount-validation.ts"

/**
 * Validates containers, init containers and ephemeral containers. Source: validateContainers and its neighbours in
 * pkg/apis/core/validation/validation.go.
 */

interface Surroundings {
  readonly spec: PodSpec
  readonly volumes: ReadonlyMap<string, Volume>
  readonly claims: ReadonlySet<string>
}

/** `volumes`: the volumes of the pod that can be mounted, by name. */
export function validateContainers(spec: PodSpec, volumes: ReadonlyMap<string, Volume>): readonly Cause[] {
  const { containers, initContainers, ephemeralContainers } = spec
  const around: Surroundings = {
    spec,
    volumes,
    claims: spec.resourceClaims === undefined ? NO_CLAIMS : new Set(spec.resourceClaims.map(({ name }) => name)),
  }
  const causes: Cause[] = []
  within(causes, regular(containers, around), "containers")
  if (initContainers !== undefined) within(causes, init(initContainers, around), "initContainers")
  if (ephemeralContainers !== undefined) within(causes, ephemeral(ephemeralContainers, around), "ephemeralContainers")
  return causes
}
const NO_CLAIMS: ReadonlySet<string> = new Set()

function regular(containers: readonly Container[], around: Surroundings): readonly Cause[] {
  const names = new Set<string>()
  const causes: Cause[] = []
  for (let i = 0; i < containers.length; i++) {
    const container = containers[i]!
    within(causes, common(container, around), i)
    within(causes, takeName(container.name, names), i)
    within(causes, lifeOf(container, around.spec), i)
    within(causes, restartFaults(container), i)
  }
  within(causes, hostPortConflicts(containers), "")
  return causes
}

const SIDECAR_ONLY = "may not be set for init containers without restartPolicy=Always"

function init(initContainers: readonly Container[], around: Surroundings): readonly Cause[] {
  const names = new Set(around.spec.containers.map(({ name }) => name))
  const causes: Cause[] = []
  for (const [i, container] of initContainers.entries()) {
    within(causes, common(container, around), i)
    within(causes, takeName(container.name, names), i)
    within(causes, hostPortConflicts([container]), "")
    within(causes, initRestartFaults(container), i)
    if (container.restartPolicy === "Always") {
      within(causes, lifeOf(container, around.spec), i)
      continue
    }
    for (const field of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const)
      if (container[field] !== undefined) causes.push(forbiddenField(at("", i, field), SIDECAR_ONLY))
    within(causes, initResizeFaults(container), i)
  }
  return causes
}

const EPHEMERAL_FORBIDDEN = [
  "ports",
  "livenessProbe",
  "readinessProbe",
  "startupProbe",
  "lifecycle",
  "resizePolicy",
  "restartPolicy",
  "restartPolicyRules",
] as const
const NOT_EPHEMERAL = "cannot be set for an Ephemeral Container"

function ephemeral(ephemeralContainers: readonly EphemeralContainer[], around: Surroundings): readonly Cause[] {
  const { containers, initContainers = [] } = around.spec
  const targets = new Set([...containers, ...initContainers].map(({ name }) => name))
  const names = new Set(targets)
  const causes: Cause[] = []
  for (const [i, container] of ephemeralContainers.entries()) {
    within(causes, common(container, around), i)
    within(causes, trimmedImage(container.image), i)
    within(causes, takeName(container.name, names), i)
    const { targetContainerName = "", resources, volumeMounts = [] } = container
    if (targetContainerName !== "" && !targets.has(targetContainerName))
      causes.push(notFoundField(at("", i, "targetContainerName"), targetContainerName))
    for (const field of EPHEMERAL_FORBIDDEN)
      if (container[field] !== undefined) causes.push(forbiddenField(at("", i, field), NOT_EPHEMERAL))
    if (Object.keys(resources).length > 0) causes.push(forbiddenField(at("", i, "resources"), NOT_EPHEMERAL))
    for (const [j, mount] of volumeMounts.entries())
      for (const field of ["subPath", "subPathExpr"] as const)
        if ((mount[field] ?? "") !== "") causes.push(forbiddenField(at("", i, "volumeMounts", j, field), NOT_EPHEMERAL))
  }
  return causes
}

function takeName(name: string, taken: Set<string>): readonly Cause[] {
  if (taken.has(name)) return [duplicate("name", name)]
  taken.add(name)
  return NO_CAUSES
}

/** Checks the rules for all types of containers. */
function common(container: Container | EphemeralContainer, { spec, volumes, claims }: Surroundings): readonly Cause[] {
  const { name, ports, env, envFrom, volumeMounts, volumeDevices, resources, resizePolicy, securityContext } = container
  const causes: Cause[] = name === "" ? [required("name")] : [...checked("name", name, isDNS1123Label)]
  if ((container.image ?? "") === "") causes.push(required("image"))
  if (ports !== undefined) within(causes, validatePorts(ports), "ports")
  if (env !== undefined) within(causes, validateEnv(env), "env")
  if (envFrom !== undefined) within(causes, validateEnvFrom(envFrom), "envFrom")
  if (volumeMounts !== undefined)
    within(causes, validateMounts(volumeMounts, volumeDevices ?? [], volumes, container), "volumeMounts")
  if (volumeDevices !== undefined)
    within(causes, validateDevices(volumeDevices, volumeMounts ?? [], volumes), "volumeDevices")
  within(causes, validateResources(resources, claims), "resources")
  if (resizePolicy !== undefined) within(causes, resizePolicyFaults(container, spec.restartPolicy), "")
  if (securityContext !== undefined)
    within(causes, validateSecurityContext(securityContext, spec.hostUsers !== false), "securityContext")
  return causes
}

function lifeOf(
  { lifecycle, livenessProbe, readinessProbe, startupProbe }: Container,
  spec: PodSpec,
): readonly Cause[] {
  const causes: Cause[] = []
  if (lifecycle !== undefined)
    within(causes, validateLifecycle(lifecycle, spec.terminationGracePeriodSeconds, spec.os?.name), "lifecycle")
  if (livenessProbe !== undefined) within(causes, validateProbe(livenessProbe, "livenessProbe"), "livenessProbe")
  if (readinessProbe !== undefined) within(causes, validateProbe(readinessProbe, "readinessProbe"), "readinessProbe")
  if (startupProbe !== undefined) within(causes, validateProbe(startupProbe, "startupProbe"), "startupProbe")
  return causes
}

/** Refuses an image with spaces around it; for pods, not for templates. */
export const trimmedImage = (image: string | undefined): readonly Cause[] =>
  image !== undefined && image.trim() !== image
    ? [invalidValue("image", image, "must not have leading or trailing whitespace")]
    : NO_CAUSES

function validatePorts(ports: readonly ContainerPort[]): readonly Cause[] {
  const names = new Set<string>()
  const causes: Cause[] = []
  for (let i = 0; i < ports.length; i++) {
    const { name = "", containerPort, hostPort = 0 } = ports[i]!
    if (name !== "") {
      const problem = checked("name", name, isPortName)
      within(causes, problem, i)
      if (problem.length === 0 && names.has(name)) causes.push(duplicate(at("", i, "name"), name))
      else if (problem.length === 0) names.add(name)
    }
    if (containerPort === 0) causes.push(required(at("", i, "containerPort")))
    else within(causes, invalidValues("containerPort", containerPort, isPortNumber(containerPort)), i)
    if (hostPort !== 0) within(causes, invalidValues("hostPort", hostPort, isPortNumber(hostPort)), i)
  }
  return causes
}

function hostPortConflicts(containers: readonly Container[]): readonly Cause[] {
  const causes: Cause[] = []
  const taken = new Set<string>()
  for (let i = 0; i < containers.length; i++) {
    const { ports = [] } = containers[i]!
    for (let j = 0; j < ports.length; j++) {
      const { hostPort = 0, hostIP = "", protocol } = ports[j]!
      if (hostPort === 0) continue
      const port = `${protocol}/${hostIP}/${hostPort}`
      if (taken.has(port)) causes.push(duplicate(at("", i, "ports", j, "hostPort"), port))
      taken.add(port)
    }
  }
  return causes
}

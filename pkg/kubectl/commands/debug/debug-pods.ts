import { nameSuffix } from "../../../clock/random.ts"
import type { Container } from "../../polymorphic/pod.ts"
import type { Invocation } from "../../command/command.ts"
import type { Unstructured } from "../../rest/json.ts"
import { filled } from "../create/generator.ts"
import { customize, type CustomProfile } from "./custom-profile.ts"
import type { debugFlags } from "./flags.ts"
import { profileOf, securityOf, type DebugPod, type DebugStyle, type Kept } from "./profiles.ts"

/** A run of the command, as far as the makers of pods look at it. */
export interface Debugging {
  readonly invocation: Invocation<ReturnType<typeof debugFlags>>
  /** The words after the `--`. */
  readonly words: readonly string[]
  readonly custom: CustomProfile | undefined
}

/** A pod, and which of its containers debugs. */
export interface Made {
  readonly pod: DebugPod
  /** Empty when there is none, as where only images are changed. */
  readonly container: string
}

/** Adds an ephemeral container to a pod. Source of this file: kubectl pkg/cmd/debug/debug.go. */
export async function withEphemeralContainer(debugging: Debugging, original: Unstructured): Promise<Made> {
  const { flags } = debugging.invocation
  const pod = structuredClone(original) as DebugPod
  const name = await containerName(debugging, pod)
  const container = { ...newContainer(debugging, name), ...filled("targetContainerName", flags.target) }
  pod.spec.ephemeralContainers = [...(pod.spec.ephemeralContainers ?? []), container]
  await applyProfiles(debugging, { pod, container: name }, "ephemeral")
  return { pod, container: name }
}

/** Makes a pod that runs on a node, in its namespaces where the profile says so. */
export async function nodePod(debugging: Debugging, node: string): Promise<Made> {
  const { flags, out, environment } = debugging.invocation
  const container = flags.container === "" ? "debugger" : flags.container
  const name = `node-debugger-${node}-${nameSuffix(environment.random)}`
  if (!flags.quiet) await out.write(`Creating debugging pod ${name} with container ${container} on node ${node}.\n`)
  const pod: DebugPod = {
    kind: "Pod",
    apiVersion: "v1",
    metadata: { name, labels: { "app.kubernetes.io/managed-by": "kubectl-debug" } },
    spec: {
      containers: [newContainer(debugging, container)],
      restartPolicy: "Never",
      nodeName: node,
      tolerations: [{ operator: "Exists" }],
    },
    status: {},
  }
  await applyProfiles(debugging, { pod, container }, "node")
  return { pod, container }
}

/** Makes a copy of a pod, in which a container is changed or added. */
export async function copyOf(debugging: Debugging, original: DebugPod): Promise<Made> {
  const { flags, changed } = debugging.invocation
  const { namespace, annotations, labels } = original.metadata ?? {}
  const pod: DebugPod = {
    kind: "Pod",
    apiVersion: "v1",
    metadata: {
      name: flags["copy-to"],
      ...filled("namespace", namespace),
      ...filled("labels", labels),
      ...filled("annotations", annotations),
    },
    spec: structuredClone(original.spec),
    status: {},
  }
  delete pod.spec.ephemeralContainers
  if (changed("share-processes")) pod.spec["shareProcessNamespace"] = flags["share-processes"]
  if (!flags["same-node"]) delete pod.spec.nodeName
  const images = flags["set-image"]
  for (const each of pod.spec.containers) {
    const image = (Object.hasOwn(images, each.name) ? images[each.name] : images["*"]) ?? ""
    if (image !== "") each.image = image
  }
  let container = allContainers(pod).find(({ name }) => name === flags.container)
  if (container === undefined) {
    if (flags.image === "") {
      if (Object.keys(images).length > 0) return { pod, container: "" }
      throw new Error("you must specify image when creating new container")
    }
    const name = await containerName(debugging, pod)
    container = { name, resources: {}, terminationMessagePolicy: "File" }
    pod.spec.containers.push(container)
  }
  change(container, debugging)
  await applyProfiles(debugging, { pod, container: container.name }, "copy")
  return { pod, container: container.name }
}

/** Gives a container of a copy what the flags say. */
function change(container: Container, { invocation: { flags }, words }: Debugging): void {
  if (words.length > 0 && flags["arguments-only"]) container["args"] = words
  else if (words.length > 0) {
    container["command"] = words
    delete container["args"]
  }
  const fields = {
    ...filled("env", environmentOf(flags.env)),
    ...filled("image", flags.image),
    ...filled("imagePullPolicy", flags["image-pull-policy"]),
  }
  Object.assign(container, fields)
  delete container.stdin
  delete container.tty
  if (flags.stdin) container.stdin = true
  if (flags.tty) container.tty = true
}

const newContainer = ({ invocation: { flags }, words }: Debugging, name: string): Container => ({
  name,
  image: flags.image,
  ...filled(flags["arguments-only"] ? "args" : "command", words),
  ...filled("env", environmentOf(flags.env)),
  resources: {},
  terminationMessagePolicy: "File",
  ...filled("imagePullPolicy", flags["image-pull-policy"]),
  ...(flags.stdin ? { stdin: true } : {}),
  ...(flags.tty ? { tty: true } : {}),
})

const environmentOf = (values: Readonly<Record<string, string>>) =>
  Object.entries(values).map(([name, value]) => ({ name, ...filled("value", value) }))

const allContainers = ({ spec }: DebugPod): readonly Container[] => [
  ...spec.containers,
  ...(spec.initContainers ?? []),
  ...(spec.ephemeralContainers ?? []),
]

async function containerName({ invocation }: Debugging, pod: DebugPod): Promise<string> {
  const { flags, out, environment } = invocation
  if (flags.container !== "") return flags.container
  const taken = new Set(allContainers(pod).map(({ name }) => name))
  let name: string
  do name = `debugger-${nameSuffix(environment.random)}`
  while (taken.has(name))
  if (!flags.quiet) await out.write(`Defaulting debug container name to ${name}.\n`)
  return name
}

async function applyProfiles(debugging: Debugging, made: Made, style: DebugStyle): Promise<void> {
  const { flags } = debugging.invocation
  const kept: Kept = {
    labels: flags["keep-labels"],
    annotations: flags["keep-annotations"],
    liveness: flags["keep-liveness"],
    readiness: flags["keep-readiness"],
    startup: flags["keep-startup"],
    initContainers: flags["keep-init-containers"],
  }
  profileOf(flags.profile)(made.pod, made.container, style, kept)
  if (debugging.custom !== undefined)
    await customize(
      made.pod,
      made.container,
      debugging.custom,
      style === "ephemeral" ? "ephemeralContainers" : "containers",
    )
}

const NON_ROOT =
  'Warning: Non-root user is configured for the entire target Pod, and some capabilities granted by debug profile may not work. Please consider using "--custom" with a custom profile that specifies "securityContext.runAsUser: 0".\n'

/** Says where a container gets rights that its pod's user cannot use. */
export async function warnOfUser({ invocation }: Debugging, { pod, container: name }: Made): Promise<void> {
  const container = allContainers(pod).find((each) => each.name === name)
  const own = container === undefined ? undefined : securityOf(container)
  const { runAsUser = 0 } = (pod.spec["securityContext"] ?? {}) as { readonly runAsUser?: number }
  if (own === undefined || runAsUser === 0 || own.runAsUser === 0) return
  if (own.privileged === true || (own.capabilities?.add ?? []).length > 0) await invocation.errOut.write(NON_ROOT)
}

import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { pushAll } from "../../lists/push-all.ts"
import { errorMessage } from "../../errors/error-message.ts"
import type { Factory } from "../factory/factory.ts"
import type { Output } from "../printers/output.ts"
import { isList, type Unstructured } from "../rest/json.ts"
import { containerNames, DEFAULT_CONTAINER, findContainer, hasSeveral, notValid } from "./containers.ts"
import type { Pod } from "./pod.ts"
import { byLogging, goTypeOf, podSelectorOf, podsMatching } from "./pods-of.ts"

/** One container whose log is printed. */
export interface LogSource {
  readonly namespace: string
  readonly pod: string
  readonly container: string
}

export interface LogSourceOptions {
  readonly factory: Factory
  readonly errOut: Output
  /** Empty: the default. */
  readonly container: string
  readonly allContainers: boolean
  readonly allPods: boolean
  readonly timeoutMs: number
}

/** Finds the containers whose logs an object means. Source: kubectl pkg/polymorphichelpers/logsforobject.go. */
export async function logSources(object: Unstructured, options: LogSourceOptions): Promise<readonly LogSource[]> {
  if (isList(object)) {
    const all: LogSource[] = []
    for (const item of object.items) pushAll(all, await logSources({ apiVersion: "v1", kind: "Pod", ...item }, options))
    return all
  }
  if (object.kind === "Pod") return ofPod(object as Pod, options)
  const { factory, timeoutMs, allPods, errOut } = options
  let selector: string
  try {
    selector = podSelectorOf(object)
  } catch (err) {
    throw new Error(`cannot get the logs from ${goTypeOf(object)}: ${errorMessage(err)}`, { cause: err })
  }
  const pods = await podsMatching(factory, object.metadata?.namespace ?? "", selector, { timeoutMs, order: byLogging })
  const [first] = pods
  if (pods.length > 1 && !allPods)
    await errOut.write(`Found ${pods.length} pods, using pod/${first!.metadata?.name ?? ""}\n`)
  const all: LogSource[] = []
  for (const pod of allPods ? pods : [first!]) pushAll(all, await ofPod(pod, options))
  return all
}

async function ofPod(pod: Pod, options: LogSourceOptions): Promise<readonly LogSource[]> {
  const { name = "", namespace = "" } = pod.metadata ?? {}
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? { containers: [] }
  const names = options.allContainers
    ? [...initContainers, ...containers, ...ephemeralContainers].map((one) => one.name)
    : [await chosen(pod, options)]
  return names.map((container) => ({ namespace, pod: name, container }))
}

async function chosen(pod: Pod, { container, allPods, errOut }: LogSourceOptions): Promise<string> {
  let name = container
  const preset = pod.metadata?.annotations?.[DEFAULT_CONTAINER] ?? ""
  if (name === "" && preset !== "") {
    if (findContainer(pod, preset) !== undefined) name = preset
    else await errOut.write(`Default container name ${goQuoted(preset)} not found in pod ${pod.metadata?.name ?? ""}\n`)
  }
  if (name === "") {
    name = pod.spec?.containers[0]?.name ?? ""
    if (hasSeveral(pod) && !allPods)
      await errOut.write(`Defaulted container ${goQuoted(name)} out of: ${containerNames(pod)}\n`)
  }
  if (findContainer(pod, name) === undefined) throw notValid(name, pod)
  return name
}

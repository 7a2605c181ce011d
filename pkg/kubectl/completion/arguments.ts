import { copyArguments } from "./copying.ts"
import { contextNames, resourceNames, resourceTypes } from "./names.ts"
import { DIRECTIVE, type Proposals, type Typing } from "./typing.ts"

const NO_FILES = DIRECTIVE.noFiles
const NO_SPACE = DIRECTIVE.noSpace

/** Types of objects that have pods. */
const WITH_PODS = [
  "daemonsets",
  "deployments",
  "pods",
  "jobs",
  "replicasets",
  "replicationcontrollers",
  "services",
  "statefulsets",
]

/** Which arguments a command takes: any resources, or only these types, and how many of them. */
const RESOURCES: Readonly<Record<string, { readonly types?: readonly string[]; readonly once?: boolean }>> = {
  get: {},
  describe: {},
  delete: {},
  edit: {},
  label: {},
  annotate: {},
  patch: {},
  wait: {},
  debug: {},
  taint: { types: ["node"] },
  scale: { types: ["deployment", "replicaset", "replicationcontroller", "statefulset"] },
  autoscale: { types: ["deployment", "replicaset", "replicationcontroller", "statefulset"] },
  expose: { types: ["deployment", "pod", "replicaset", "replicationcontroller", "service"] },
  status: { types: ["deployment", "daemonset", "statefulset"], once: true },
  history: { types: ["deployment", "daemonset", "statefulset"] },
  undo: { types: ["deployment", "daemonset", "statefulset"] },
  restart: { types: ["deployment", "daemonset", "statefulset"] },
  pause: { types: ["deployment"] },
  resume: { types: ["deployment"] },
}
const OF_PODS = ["logs", "exec", "attach", "port-forward"]
const OF_NODES = ["cordon", "uncordon", "drain"]
const OF_KUBECONFIG: Readonly<Record<string, "contexts" | "clusters" | "users">> = {
  "use-context": "contexts",
  "delete-context": "contexts",
  "rename-context": "contexts",
  "set-context": "contexts",
  "delete-cluster": "clusters",
  "delete-user": "users",
}

/** Proposes arguments that are no flags; undefined for commands that have none to propose. */
export async function argumentsOf(
  { found, word, invocation: { factory } }: Typing,
  values: readonly string[],
): Promise<Proposals | undefined> {
  const name = found.names.at(-1)!
  const parent = found.names.at(-2)
  const words = (list: readonly string[], directive: number = NO_FILES): Proposals => ({ words: list, directive })
  if (parent === "config" && name in OF_KUBECONFIG)
    return words(values.length === 0 ? await contextNames(factory, OF_KUBECONFIG[name]!, word) : [])
  if (name === "completion" && parent === "kubectl")
    return words(
      values.length === 0 ? ["bash", "zsh", "fish", "powershell"].filter((each) => each.startsWith(word)) : [],
    )
  const isTop = parent === "kubectl"
  if (isTop && OF_NODES.includes(name))
    return words(values.length === 0 ? await resourceNames(factory, "nodes", word) : [])
  if (isTop && name === "cp") return copyArguments(factory, values, word)
  if (isTop && OF_PODS.includes(name)) return values.length === 0 ? ofPods(factory, word) : words([])
  const known = isTop || parent === "rollout" ? RESOURCES[name] : undefined
  return known === undefined ? undefined : ofResources(factory, values, word, known)
}

async function ofPods(factory: Typing["invocation"]["factory"], word: string): Promise<Proposals> {
  const at = word.indexOf("/")
  if (at !== -1) return named(factory, word, at)
  const pods = await resourceNames(factory, "pods", word)
  const types = WITH_PODS.filter((type) => type.startsWith(word)).map((type) => `${type}/`)
  return {
    words: [...pods, ...types],
    directive: types.length > 0 && pods.length === 0 ? NO_FILES | NO_SPACE : NO_FILES,
  }
}

/** TYPE/NAME. */
async function named(factory: Typing["invocation"]["factory"], word: string, slash: number): Promise<Proposals> {
  const type = word.slice(0, slash)
  const names = await resourceNames(factory, type, word.slice(slash + 1))
  return { words: names.map((name) => `${type}/${name}`), directive: NO_FILES }
}

async function ofResources(
  factory: Typing["invocation"]["factory"],
  values: readonly string[],
  word: string,
  { types, once = false }: { readonly types?: readonly string[]; readonly once?: boolean },
): Promise<Proposals> {
  const [first] = values
  const known = (): Promise<readonly string[]> =>
    types === undefined ? resourceTypes(factory, word) : Promise.resolve(types.filter((type) => type.startsWith(word)))
  if (first !== undefined && !first.includes("/")) {
    if (once && values.length > 1) return { words: [], directive: NO_FILES }
    const names = await resourceNames(factory, first, word)
    return { words: names.filter((name) => !values.slice(1).includes(name)), directive: NO_FILES }
  }
  const at = word.indexOf("/")
  if (at !== -1) return once && values.length > 0 ? { words: [], directive: NO_FILES } : named(factory, word, at)
  if (first === undefined) return { words: await known(), directive: NO_FILES }
  return once
    ? { words: [], directive: NO_FILES }
    : { words: (await known()).map((type) => `${type}/`), directive: NO_FILES | NO_SPACE }
}

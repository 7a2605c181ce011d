import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"

/**
 * The fields of an object by their paths, as two runs of a cluster can be compared: without what each run gives anew
 * (UIDs, resourceVersions, times, addresses of pods, hashes). Values are JSON.
 */
export type Leaves = ReadonlyMap<string, string>

/** Fields of metadata that the server gives. */
const OF_METADATA: ReadonlySet<string> = new Set([
  "uid",
  "resourceVersion",
  "generation",
  "managedFields",
  "creationTimestamp",
  "selfLink",
  "deletionGracePeriodSeconds",
])
/** Fields anywhere that name a version of something, or are made by hashing, drawing or allocating. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  "uid",
  "resourceVersion",
  "observedGeneration",
  "pod-template-hash",
  "controller-revision-hash",
  "controller-uid",
  "batch.kubernetes.io/controller-uid",
  "clusterIP",
  "clusterIPs",
  "nodePort",
  "healthCheckNodePort",
  "hostIP",
  "hostIPs",
  "podIP",
  "podIPs",
  "podCIDR",
  "podCIDRs",
  "containerID",
  "imageID",
])

/** A time, and a time within a text. */
const TIME = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g

/** The volume with a pod's token, whose name ends with random signs. */
const TOKEN_VOLUME = /^(kube-api-access)-[a-z0-9]{5}$/

/** The fields that identify items of lists. */
const ITEM_KEYS = ["name", "type", "key", "ip", "containerPort", "port"] as const

/**
 * Returns the fields of an object. `words` makes texts comparable: it replaces addresses of pods. `isAnonymous` says
 * that messages cannot be compared, since one side has other words.
 */
export function leavesOf(object: KubeObject, words: (text: string) => string, isAnonymous = false): Leaves {
  const leaves = new Map<string, string>()
  add(JSON.parse(JSON.stringify(object)) as unknown, "", "")
  return leaves

  function add(value: unknown, path: string, name: string): void {
    if (value === null || value === undefined) return
    if (path !== "" && (ELSEWHERE.has(name) || (path.startsWith("metadata.") && OF_METADATA.has(name)))) return
    if (isAnonymous && name === "message") return
    if (Array.isArray(value)) return addList(value as readonly unknown[], path)
    if (typeof value === "object") {
      const isInMetadata = path === "metadata"
      for (const [key, inner] of Object.entries(value)) {
        if (isInMetadata && OF_METADATA.has(key)) continue
        add(inner, path === "" ? key : `${path}.${key}`, key)
      }
      return
    }
    const plain = (text: string) => words(text.replace(TOKEN_VOLUME, "$1").replaceAll(TIME, "(a time)"))
    leaves.set(path, JSON.stringify(typeof value === "string" ? plain(value) : value))
  }

  function addList(items: readonly unknown[], path: string): void {
    if (items.every((item) => typeof item !== "object")) {
      if (items.length > 0) leaves.set(path, words(JSON.stringify(items.map(String).sort())))
      return
    }
    const keys = items.map(itemKey)
    const areKeys = keys.every((key) => key !== undefined) && new Set(keys).size === keys.length
    items.forEach((item, i) => add(item, `${path}[${areKeys ? keys[i] : i}]`, ""))
  }
}

/** Names an item of a list: by its target where it is an endpoint, else by the first field that identifies it. */
function itemKey(item: unknown): string | undefined {
  if (typeof item !== "object" || item === null) return undefined
  const fields = item as Readonly<Record<string, unknown>>
  const target = fields["targetRef"] as { readonly name?: unknown } | undefined
  if (typeof target?.name === "string") return target.name
  const key = ITEM_KEYS.find((name) => typeof fields[name] === "string" || typeof fields[name] === "number")
  return key === undefined ? undefined : String(fields[key]).replace(TOKEN_VOLUME, "$1")
}

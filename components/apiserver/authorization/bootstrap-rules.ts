import type { PolicyRule } from "../../../pkg/api/rbac/v1/rules.ts"

/** By text. Hundreds of rules share a few lists, so that they take less time and memory. */
const lists = new Map<string, readonly string[]>()

function words(text: string): readonly string[] {
  let list = lists.get(text)
  if (list === undefined) lists.set(text, (list = text.split(" ").map((word) => (word === "core" ? "" : word))))
  return list
}

/** Makes a rule of words separated by spaces; `core` is the group without a name. */
export const on = (verbs: string, groups: string, resources: string, names?: string): PolicyRule => ({
  verbs: words(verbs),
  apiGroups: words(groups),
  resources: words(resources),
  ...(names === undefined ? {} : { resourceNames: words(names) }),
})
/** Makes a rule about paths that are no resources. */
export const urls = (verbs: string, paths: string): PolicyRule => ({
  verbs: words(verbs),
  nonResourceURLs: words(paths),
})

export const READ = "get list watch"
export const WRITE = "create update patch delete deletecollection"
/** The right to record events, which most components have. */
export const EVENTS = on("create update patch", "core events.k8s.io", "events")

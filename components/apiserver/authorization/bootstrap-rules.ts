import type { PolicyRule } from "../../../pkg/api/rbac/v1/rules.ts"

const words = (text: string): readonly string[] => text.split(" ").map((word) => (word === "core" ? "" : word))

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

import type { PolicyRule } from "../../../pkg/api/rbac/v1/rules.ts"

const words = (text: string): readonly string[] => text.split(" ").map((word) => (word === "core" ? "" : word))

/** A rule in short: words separated by spaces; `core` is the group without a name. */
export const on = (verbs: string, groups: string, resources: string, names?: string): PolicyRule => ({
  verbs: words(verbs),
  apiGroups: words(groups),
  resources: words(resources),
  ...(names === undefined ? {} : { resourceNames: words(names) }),
})
/** A rule about paths. */
export const urls = (verbs: string, paths: string): PolicyRule => ({
  verbs: words(verbs),
  nonResourceURLs: words(paths),
})

export const READ = "get list watch"
export const WRITE = "create update patch delete deletecollection"
/** Recording events, which nearly everyone does. */
export const EVENTS = on("create update patch", "core events.k8s.io", "events")

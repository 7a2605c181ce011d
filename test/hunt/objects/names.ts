/** The class whose claims are bound when a pod needs them. */
export const LATE = "late"
/** The class whose claims are bound at once. */
export const SHARED = "shared"
export const FINALIZER = "hunt.example.com/held"
/** A namespace that is created and deleted during a run. */
export const TEAM = "team"

/** The names of the hunt's objects: few, so that actions often concern the same object. */
export const NAMES = ["red", "green", "blue", "white", "black"] as const

/** The zones of the nodes. */
export const ZONES = ["east", "west"] as const
export const zoneOf = (node: number): string => ZONES[node % ZONES.length]!

/** Values of the label `tier`, which pods of several workloads share. */
export const TIERS = ["a", "b", "c"] as const
export const labelsOf = (name: string) => ({ app: name })
export const selectorOf = (name: string) => ({ matchLabels: labelsOf(name) })

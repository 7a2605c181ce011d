/** The class whose claims are bound when a pod needs them. */
export const LATE = "late"
/** The class whose claims are bound at once. */
export const SHARED = "shared"
export const FINALIZER = "hunt.example.com/held"
/** A namespace that comes and goes. */
export const TEAM = "team"

/** Names that objects of the hunt have; few, so that they meet. */
export const NAMES = ["red", "green", "blue", "white", "black"] as const

/** Values of the label `tier`, which pods of several workloads share. */
export const TIERS = ["a", "b", "c"] as const
export const labelsOf = (name: string) => ({ app: name })
export const selectorOf = (name: string) => ({ matchLabels: labelsOf(name) })

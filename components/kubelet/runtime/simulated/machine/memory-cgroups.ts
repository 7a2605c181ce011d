import type { PodCgroups } from "../../runtime.ts"

/** The cgroups of one simulated node, of which only the existence is kept. */
export function memoryCgroups(): PodCgroups {
  const known = new Set<string>()
  const name = (path: readonly string[]) => path.map((part) => `/${part}`).join("")
  return {
    async ensure(path) {
      for (let depth = 1; depth <= path.length; depth++) known.add(name(path.slice(0, depth)))
    },
    async remove(path) {
      const gone = name(path)
      known.delete(gone)
      // The kubelet makes no cgroups below those of pods, so only the few at the top need a search.
      if (path.length < 2) for (const other of known) if (other.startsWith(`${gone}/`)) known.delete(other)
    },
    async children(path) {
      const above = `${name(path)}/`
      return [...known]
        .filter((other) => other.startsWith(above) && !other.slice(above.length).includes("/"))
        .map((other) => other.slice(above.length))
    },
    parentName: name,
  }
}

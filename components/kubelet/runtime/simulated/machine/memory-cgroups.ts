import type { PodCgroups } from "../../runtime.ts"

/** cgroups of one simulated node: only that they are there. */
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
      // Pods' cgroups, which come and go, have none below them that the kubelet made.
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

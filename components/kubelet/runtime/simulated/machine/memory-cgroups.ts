import type { PodCgroups } from "../../runtime.ts"

/** The cgroups of one simulated node, of which only the existence is kept. */
export function memoryCgroups(): PodCgroups {
  // A list takes a tenth of a set's memory. There are a hundred at most.
  let known: string[] = []
  const name = (path: readonly string[]) => path.map((part) => `/${part}`).join("")
  const add = (path: string) => {
    if (!known.includes(path)) known.push(path)
  }
  return {
    async ensure(path) {
      for (let depth = 1; depth <= path.length; depth++) add(name(path.slice(0, depth)))
    },
    async remove(path) {
      const gone = name(path)
      known = known.filter((other) => other !== gone && !other.startsWith(`${gone}/`))
    },
    async children(path) {
      const above = `${name(path)}/`
      return known
        .filter((other) => other.startsWith(above) && !other.slice(above.length).includes("/"))
        .map((other) => other.slice(above.length))
    },
    parentName: name,
  }
}

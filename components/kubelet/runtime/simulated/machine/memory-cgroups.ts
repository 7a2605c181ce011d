import type { PodCgroups } from "../../runtime.ts"

/**
 * The cgroups of one simulated node, of which only the existence is kept. A class, as all parts of a simulated node
 * are: with a closure for each call, a node that starts made a twentieth more objects.
 */
export class MemoryCgroups implements PodCgroups {
  /** A list takes a tenth of a set's memory. There are a hundred at most. */
  #known: string[] = []

  async ensure(path: readonly string[]): Promise<void> {
    for (let depth = 1; depth <= path.length; depth++) this.#add(this.parentName(path.slice(0, depth)))
  }

  async remove(path: readonly string[]): Promise<void> {
    const gone = this.parentName(path)
    this.#known = this.#known.filter((other) => other !== gone && !other.startsWith(`${gone}/`))
  }

  async children(path: readonly string[]): Promise<readonly string[]> {
    const above = `${this.parentName(path)}/`
    return this.#known
      .filter((other) => other.startsWith(above) && !other.slice(above.length).includes("/"))
      .map((other) => other.slice(above.length))
  }

  parentName(path: readonly string[]): string {
    return path.map((part) => `/${part}`).join("")
  }

  #add(path: string): void {
    if (!this.#known.includes(path)) this.#known.push(path)
  }
}

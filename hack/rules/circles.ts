/**
 * No file imports itself by way of others. A circle of types counts too: the files of a circle can only be read, moved
 * and tested together.
 */
import { posix } from "node:path"
import { importsOf, type SourceFile, type Violation } from "./source.ts"

/** A place in a source file. */
interface Place {
  readonly path: string
  readonly line: number
}

/** What imports what: importer → imported → the place of the first such import. */
export class ImportGraph {
  readonly #edges = new Map<string, Map<string, Place>>()

  add(from: string, to: string, place: Place): void {
    const targets = this.#edges.get(from) ?? new Map<string, Place>()
    if (!targets.has(to)) targets.set(to, place)
    this.#edges.set(from, targets)
  }

  /** Returns a violation for each import that closes a circle, found by following the imports depth first. */
  circles(mend: string): Violation[] {
    const violations: Violation[] = []
    const done = new Set<string>()
    const visit = (node: string, way: readonly string[]) => {
      if (done.has(node)) return
      const here = [...way, node]
      for (const [to, place] of this.#edges.get(node) ?? []) {
        if (!here.includes(to)) visit(to, here)
        else {
          const circle = [...here.slice(here.indexOf(to)), to].join(" → ")
          violations.push({ ...place, message: `this import closes a circle: ${circle}`, mend })
        }
      }
      done.add(node)
    }
    for (const node of [...this.#edges.keys()].sort()) visit(node, [])
    return violations
  }
}

/** Every import that closes a circle of files. */
export function circleViolations(files: readonly SourceFile[]): Violation[] {
  const graph = new ImportGraph()
  for (const file of files) {
    for (const { specifier, line } of importsOf(file)) {
      if (!specifier.startsWith(".")) continue
      graph.add(file.path, posix.join(posix.dirname(file.path), specifier), { path: file.path, line })
    }
  }
  return graph.circles("move what both files need into a file of its own, often the types")
}

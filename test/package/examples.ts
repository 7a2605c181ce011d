import { readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./project.ts"

/** Returns the test that a text shows, as it stands there: from its import of k3ts/testing to the end of its block. */
export function exampleOf(path: string): string {
  const lines = readFileSync(join(root, path), "utf8").split("\n")
  const start = lines.findIndex((line) => /^\s*import \{.*\} from "k3ts\/testing"/.test(line))
  const indent = /^\s*/.exec(lines[start] ?? "")?.[0] ?? ""
  const end = lines.findIndex((line, at) => at > start && line === `${indent}})`)
  if (start < 0 || end < 0) throw new Error(`${path}: no example that imports k3ts/testing`)
  return `${lines
    .slice(start, end + 1)
    .map((line) => line.slice(indent.length))
    .join("\n")}\n`
}

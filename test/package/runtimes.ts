import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { root } from "./project.ts"

/** The versions of Node that the package is tested with: the first that it promises, and the newest of each line. */
export const NODES = ["22.15.0", "22.23.3", "24.21.0"] as const
export type NodeVersion = (typeof NODES)[number]

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "linux-x64", arm64: "linux-arm64" }

/** Returns the program of a version of Node, from the npm registry. It is kept in dist/runtimes. */
export function fetchNode(version: NodeVersion): string {
  const folder = join(root, "dist/runtimes", `node-${version}`)
  const name = `node-${ARCHITECTURES[process.arch] ?? process.arch}`
  const program = join(folder, "node_modules", name, "bin/node")
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true })
    execFileSync(
      "npm",
      ["install", "--prefix", folder, "--no-audit", "--no-fund", "--loglevel=error", `${name}@${version}`],
      { stdio: "pipe" },
    )
  }
  return program
}

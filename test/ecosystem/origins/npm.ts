import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { runIn } from "./run-in.ts"

/** A package of the npm registry, for programs that run on Node. */
export interface Npm {
  readonly kind: "npm"
  readonly package: string
  readonly version: string
  /** Of the package, as a lock file has it: `sha512-…`. */
  readonly integrity: string
}

/**
 * Returns the folder in whose `node_modules` the package is, which is kept between runs. No script of a package runs.
 * @throws Error where npm is missing, or the package has another sum
 */
export async function haveNpm({ package: name, version, integrity }: Npm, cache: string): Promise<string> {
  const folder = join(cache, `npm_${name.replaceAll("/", "_")}@${version}`)
  if (existsSync(folder)) return folder
  const made = `${folder}.making`
  rmSync(made, { recursive: true, force: true })
  mkdirSync(made, { recursive: true })
  writeFileSync(join(made, "package.json"), JSON.stringify({ private: true, type: "module" }))
  await runIn(made, ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", `${name}@${version}`], 300)
  const { packages } = JSON.parse(readFileSync(join(made, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly integrity?: string }>>
  }
  const found = packages[`node_modules/${name}`]?.integrity
  if (found !== integrity) throw new Error(`${name}@${version} has the sum ${found}, but ${integrity} is pinned`)
  renameSync(made, folder)
  return folder
}

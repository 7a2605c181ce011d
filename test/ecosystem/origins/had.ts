import { existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import type { Origin } from "./origin.ts"
import { goInstall, haveGoModule } from "./go-module.ts"
import { haveDebian } from "./debian.ts"
import { haveNpm } from "./npm.ts"

/** The files of the programs of one scenario. */
export class Had {
  readonly #folders: ReadonlyMap<string, string>

  private constructor(folders: ReadonlyMap<string, string>) {
    this.#folders = folders
  }

  /** Has every program, from the cache or from where it comes. @throws Error that names one that cannot be had */
  static async of(origins: readonly Origin[], cache: string): Promise<Had> {
    mkdirSync(cache, { recursive: true })
    const folders = new Map<string, string>()
    for (const origin of origins) {
      if (origin.kind === "go") folders.set(origin.program, await haveGoModule(origin, cache))
      else if (origin.kind === "npm") folders.set(origin.package, await haveNpm(origin, cache))
      else folders.set(origin.package, await haveDebian(origin, cache))
    }
    return new Had(folders)
  }

  /** Folders for the variable PATH. */
  get folders(): readonly string[] {
    return [...this.#folders.values()].flatMap((folder) => [folder, join(folder, "usr/bin"), join(folder, "usr/sbin")])
  }

  /** The path of a program of a Go module by its name. @throws Error where none of the origins has it */
  program(name: string): string {
    const path = join(this.folder(name), name)
    if (!existsSync(path)) throw new Error(`There is no ${path}`)
    return path
  }

  /** The folder with a program of a Go module, or with an npm package, or into which a Debian one was unpacked. */
  folder(name: string): string {
    const folder = this.#folders.get(name)
    if (folder === undefined) throw new Error(`No origin of this program is named ${name}`)
    return folder
  }
}

/** What a user types to have a program, with its version. */
export function command(origin: Origin): string {
  if (origin.kind === "go") return goInstall(origin)
  if (origin.kind === "npm") return `npm install ${origin.package}@${origin.version}`
  return `apt-get install ${origin.package}=${origin.version}`
}

/** The sum that a program must have, as its registry writes it. */
export function sumOf(origin: Origin): string {
  if (origin.kind === "go") return origin.sum
  return origin.kind === "npm" ? origin.integrity : origin.sha256
}

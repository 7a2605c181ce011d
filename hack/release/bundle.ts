import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { librariesOf } from "../package/libraries.ts"
import type { Release } from "./release.ts"

/** An npm package of which the executables contain code, as the lock file tells. */
export interface BundledPackage {
  readonly name: string
  /** From the root of the repository: "node_modules/yaml". */
  readonly folder: string
  readonly version: string
  /** An SPDX expression. */
  readonly license: string
  /** "sha512-" and the digest of the package's archive in base64. */
  readonly integrity: string
}

/** Where `bun build` tells of which files the executables are made; the same for all processors. */
export const metafile = (scratch: string): string => join(scratch, "metafile.json")

/** Returns the npm packages in the executables, in the order of their folders. */
export const bundledPackages = async ({ root, scratch }: Pick<Release, "root" | "scratch">) =>
  packagesOf(await readFile(metafile(scratch), "utf8"), await readFile(join(root, "package-lock.json"), "utf8"))

/**
 * Returns the packages of files of a bundle, from the texts of Bun's metafile and the lock file.
 * @throws Error for one that the lock file does not have, or tells no licence of
 */
export function packagesOf(bundle: string, lockFile: string): readonly BundledPackage[] {
  const { inputs } = JSON.parse(bundle) as { readonly inputs: Readonly<Record<string, unknown>> }
  const { packages } = JSON.parse(lockFile) as { readonly packages: Readonly<Record<string, Partial<BundledPackage>>> }
  return librariesOf(Object.keys(inputs)).map((folder) => {
    const { version, license, integrity } = packages[folder] ?? {}
    const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length)
    if (version === undefined || license === undefined || integrity === undefined)
      throw new Error(`package-lock.json: expected ${folder} with version, license and integrity; run: npm install`)
    return { name, folder, version, license, integrity }
  })
}

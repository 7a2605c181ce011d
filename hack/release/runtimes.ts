import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { run } from "../../pkg/process/run.ts"
import type { Architecture } from "./architectures.ts"

/**
 * The npm packages of Bun's binaries. That for amd64 runs on every processor with SSE4.2 (2008) and finds out by itself
 * what more it has; since 1.4 @oven/bun-linux-x64-baseline is another name of the same bytes.
 */
const PACKAGES: Readonly<Record<Architecture, string>> = {
  amd64: "@oven/bun-linux-x64",
  arm64: "@oven/bun-linux-aarch64",
}

/** An npm package as the lock file names it. */
export interface LockedPackage {
  readonly name: string
  readonly version: string
  /** "sha512-" and the digest of the archive in base64. */
  readonly integrity: string
}

/** Finds the package of the Bun for this processor in package-lock.json. @throws Error if it is not there */
export function runtimePackage(lockFile: string, architecture: Architecture): LockedPackage {
  const name = PACKAGES[architecture]
  const { packages } = JSON.parse(lockFile) as { packages: Readonly<Record<string, Partial<LockedPackage>>> }
  const { version, integrity } = packages[`node_modules/${name}`] ?? {}
  if (version === undefined || integrity === undefined || !integrity.startsWith("sha512-"))
    throw new Error(`package-lock.json: expected ${name} with its version and a sha512; run: npm install`)
  return { name, version, integrity }
}

/** Throws Error unless the archive of the package has the digest that the lock file names. */
export function checkIntegrity({ name, version, integrity }: LockedPackage, archive: Uint8Array): void {
  const found = `sha512-${createHash("sha512").update(archive).digest("base64")}`
  if (found !== integrity)
    throw new Error(`${name}@${version}: its archive is ${found}, but package-lock.json says ${integrity}`)
}

/**
 * Brings the Bun for a processor into `folder` and returns its path. npm fetches the package, also on a machine that
 * `npm install` would not install it on, and keeps it in its cache.
 */
export async function fetchRuntime(root: string, folder: string, architecture: Architecture): Promise<string> {
  const locked = runtimePackage(await readFile(join(root, "package-lock.json"), "utf8"), architecture)
  const [packed] = JSON.parse(
    await run("npm", ["pack", "--json", "--pack-destination", folder, `${locked.name}@${locked.version}`]),
  ) as readonly { readonly filename: string }[]
  if (packed === undefined) throw new Error(`npm pack ${locked.name}@${locked.version} names no file`)
  const archive = join(folder, packed.filename)
  checkIntegrity(locked, await readFile(archive))
  await run("tar", ["-xzf", archive, "-C", folder, "package/bin/bun"])
  return join(folder, "package/bin/bun")
}

import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { runIn } from "./run-in.ts"

/** A program of a Debian package, as apt has it. */
export interface Debian {
  readonly kind: "debian"
  readonly package: string
  readonly version: string
  /** Of the package, in hexadecimal digits, for amd64. */
  readonly sha256: string
  /** Packages with the libraries that it needs, in the versions of this Debian. */
  readonly libraries?: readonly string[]
}

/**
 * Returns the folder into which the package and its libraries are unpacked, which is kept between runs.
 * @throws Error where apt has it no more, or the package has another sum
 */
export async function haveDebian(origin: Debian, cache: string): Promise<string> {
  const { package: name, version, sha256, libraries = [] } = origin
  const folder = join(cache, `${name}_${version.replaceAll(":", "%3a")}`)
  if (existsSync(folder)) return folder
  const made = `${folder}.making`
  rmSync(made, { recursive: true, force: true })
  const packages = join(made, "packages")
  mkdirSync(packages, { recursive: true })
  await runIn(packages, ["apt-get", "download", `${name}=${version}`], 300)
  const found = createHash("sha256")
    .update(readFileSync(join(packages, readdirSync(packages)[0]!)))
    .digest("hex")
  if (found !== sha256) throw new Error(`${name} ${version} has the sum ${found}, but ${sha256} is pinned`)
  if (libraries.length > 0) await runIn(packages, ["apt-get", "download", ...libraries], 300)
  for (const file of readdirSync(packages))
    await runIn(made, ["dpkg-deb", "--extract", join(packages, file), join(made, "root")], 60)
  renameSync(join(made, "root"), folder)
  rmSync(made, { recursive: true })
  return folder
}

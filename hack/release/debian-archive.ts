import { createHash } from "node:crypto"
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { run } from "../../pkg/process/run.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"
import { ARCHITECTURES, type Architecture } from "./architectures.ts"

/** A package of Debian whose bytes are known: part of a release, so that the same commit gives the same bytes. */
export interface PinnedPackage {
  readonly name: string
  readonly version: string
  /** SHA-256 of the package for each processor, in hexadecimal. */
  readonly sha256: Readonly<Record<Architecture, string>>
}

/** The release of Debian that the pinned packages are of. The host may run another one. */
const SUITE = "bookworm"
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"

/**
 * Debian's archive, for packages of every processor, which are downloaded and not installed. It is asked by the host's
 * apt at the host's mirror, with lists and settings of its own in a folder: the host's are not touched.
 */
export class DebianArchive {
  readonly #folder: string
  readonly #settings: readonly string[]

  private constructor(folder: string) {
    this.#folder = folder
    this.#settings = [
      `Dir::Etc=${folder}/etc`,
      `Dir::Etc::sourcelist=${folder}/etc/sources.list`,
      `Dir::State=${folder}/state`,
      // No package is installed as far as this apt knows.
      "Dir::State::status=/dev/null",
      `Dir::Cache=${folder}/cache`,
      ...ARCHITECTURES.map((architecture) => `APT::Architectures::=${architecture}`),
      // Root would download as the user _apt, who cannot write here.
      "APT::Sandbox::User=root",
      "Acquire::Retries=3",
      "Acquire::Languages=none",
    ].flatMap((setting) => ["-o", setting])
  }

  /** Reads the archive's lists into a folder. @throws Error without apt or a source of Debian's packages */
  static async open(folder: string): Promise<DebianArchive> {
    const targets = await run("apt-get", ["indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Created-By: Packages"])
    const mirror = /^Debian (\S+\/debian\/?)$/m.exec(targets)?.[1]
    if (mirror === undefined)
      throw new Error("apt has no source of Debian's packages: run this on Debian, and apt-get update before")
    const archive = new DebianArchive(folder)
    for (const name of ["etc/apt.conf.d", "etc/preferences.d", "state/lists/partial", "cache/archives/partial", "debs"])
      await mkdir(join(folder, name), { recursive: true })
    await writeFile(join(folder, "etc/sources.list"), `deb [signed-by=${KEYRING}] ${mirror} ${SUITE} main\n`)
    await run("apt-get", [...archive.#settings, "-q", "update"])
    return archive
  }

  /** Unpacks a package into a folder. @throws Error where Debian no longer has these bytes */
  async unpack(pinned: PinnedPackage, architecture: Architecture, into: string): Promise<void> {
    const { name, version } = pinned
    const deb = await this.#download(`${name}:${architecture}=${version}`, name).catch((cause: unknown) => {
      throw new Error(
        `Cannot fetch ${name} ${version} for ${architecture}: ${errorMessage(cause)}. If Debian has replaced it, name its ` +
          "present version and digests in hack/release/pinned.ts",
        { cause },
      )
    })
    checkDigest(pinned, architecture, await readFile(deb))
    await mkdir(into, { recursive: true })
    await run("dpkg-deb", ["--extract", deb, into])
  }

  async #download(what: string, name: string): Promise<string> {
    const folder = join(this.#folder, "debs", what.replaceAll(/[^\w.-]/g, "_"))
    await mkdir(folder, { recursive: true })
    // apt-get writes into its working directory.
    await run("sh", ["-c", 'cd "$1" && shift && apt-get -q "$@"', "sh", folder, ...this.#settings, "download", what])
    const file = (await readdir(folder)).find((one) => one.startsWith(`${name}_`))
    if (file === undefined) throw new Error(`apt-get download ${what} wrote no file`)
    return join(folder, file)
  }
}

/** Throws Error unless the package for a processor has the digest that is known of it. */
export function checkDigest(
  { name, version, sha256 }: PinnedPackage,
  architecture: Architecture,
  deb: Uint8Array,
): void {
  const found = createHash("sha256").update(deb).digest("hex")
  if (found !== sha256[architecture])
    throw new Error(`${name} ${version} for ${architecture} has the SHA-256 ${found}, expected ${sha256[architecture]}`)
}

import { mkdir, mkdtemp, rename, rm } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { errorMessage } from "../../pkg/errors/error-message.ts"
import { makeArchives } from "./archives.ts"
import { makeBillOfMaterials } from "./bill-of-materials.ts"
import { CHECKSUMS, writeChecksums } from "./checksums.ts"
import { makeDebianPackages } from "./debian/package.ts"
import { DebianArchive } from "./debian-archive.ts"
import { executableName, makeExecutables } from "./executables.ts"
import { makeImage } from "./image.ts"
import { makeInstallScript } from "./install-script.ts"
import { makeLicenses } from "./licenses.ts"
import { makeNpmPackage } from "./npm-package.ts"
import type { Maker, Release, Sources } from "./release.ts"
import { differencesOfSecondBuild } from "./verify.ts"

/**
 * `npm run release [-- --allow-dirty] [--verify]` makes every file of a release in dist/release. hack/release.sh tells
 * version, commit and date in the environment. See docs/release.md.
 */

/** In their order: executables and licences are part of what comes after. */
const MAKERS: readonly Maker[] = [
  makeExecutables,
  makeLicenses,
  makeArchives,
  makeImage,
  makeBillOfMaterials,
  makeNpmPackage,
  makeDebianPackages,
  makeInstallScript,
]

const { values: options } = parseArgs({
  options: { "allow-dirty": { type: "boolean", default: false }, verify: { type: "boolean", default: false } },
})
const root = resolve(import.meta.dir, "../..")
const commit = process.env["K3TS_GIT_COMMIT"] ?? ""
const changed = process.env["K3TS_CHANGED_FILES"] ?? ""

try {
  await main()
} catch (err) {
  console.error(`error: ${errorMessage(err)}`)
  process.exitCode = 1
}

async function main(): Promise<void> {
  if (commit === "")
    throw new Error("a release is made of a commit: run this in a git checkout, or set K3TS_GIT_COMMIT")
  if (changed !== "" && !options["allow-dirty"])
    throw new Error(
      `a release is made of a commit, but these files differ from it:\n${changed}\n` +
        "Commit or stash them, or give --allow-dirty to try a release that nobody can make again",
    )
  const output = join(root, "dist/release")
  const files = await makeRelease(output)
  console.log(files.map((file) => `dist/release/${file}`).join("\n"))
  if (options.verify) await verify(output)
}

/** Makes all files aside, and then puts them in the place of an earlier release. Returns their names. */
async function makeRelease(output: string): Promise<string[]> {
  await mkdir(dirname(output), { recursive: true })
  const folder = await mkdtemp(join(dirname(output), ".release-"))
  const [aside, scratch] = [join(folder, "release"), join(folder, "scratch")]
  try {
    await mkdir(aside)
    await mkdir(scratch)
    const release: Release = {
      version: process.env["K3TS_VERSION"] ?? "",
      commit,
      epoch: Number(process.env["SOURCE_DATE_EPOCH"]),
      root,
      executables: { amd64: join(aside, executableName("amd64")), arm64: join(aside, executableName("arm64")) },
      scratch,
      output: aside,
    }
    const sources: Sources = { debian: await DebianArchive.open(join(scratch, "debian")) }
    const files: string[] = []
    for (const make of MAKERS) files.push(...(await make(release, sources)))
    await writeChecksums(aside, files)
    await rm(output, { recursive: true, force: true })
    await rename(aside, output)
    return [...files, CHECKSUMS]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function verify(output: string): Promise<void> {
  const differing = await differencesOfSecondBuild(root, commit, output)
  if (differing.length > 0) throw new Error(`a second build gave other bytes for ${differing.join(", ")}`)
  console.log("A second build in another folder gave the same bytes")
}

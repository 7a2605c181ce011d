import { chmod, copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { basename, join, relative, resolve } from "node:path"
import { parseArgs } from "node:util"
import { gzipSync } from "node:zlib"
import { writeTar, type TarEntry } from "../../pkg/oci/tar.ts"
import { API_FILE, listApi } from "./api.ts"
import { bundle, type Identity } from "./bundle.ts"
import { runnerFiles } from "./entries.ts"
import { licencesOf } from "./licenses.ts"
import { packageManifest, type OwnManifest } from "./manifest.ts"
import { makeTypes, writeFiles } from "./types.ts"

/** The whole program is in a module that this one loads, so that a map of its lines stays true. */
const CLI = `#!/usr/bin/env node\nimport "./main.js"\n`

/**
 * Makes the npm package: its files in `<output>/package`, and beside it the list of its API and its archive. Returns the
 * name of the archive.
 * The same commit gives the same bytes.
 */
export async function makePackage(root: string, output: string, identity: Identity): Promise<string> {
  const folder = join(output, "package")
  const scratch = join(output, ".declarations")
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const own = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as OwnManifest
  try {
    const libraries = await bundle(root, join(folder, "dist"), identity)
    const types = await makeTypes(root, scratch)
    await writeFiles(join(folder, "dist/types"), types.files)
    await writeFiles(join(folder, "dist"), runnerFiles())
    await writeFile(join(output, basename(API_FILE)), listApi(types))
    await writeFiles(
      folder,
      new Map([
        ["package.json", `${JSON.stringify({ ...packageManifest(own), version: identity.version }, undefined, 2)}\n`],
        ["dist/cli.js", CLI],
        ["LICENSE", await readFile(join(root, "LICENSE"), "utf8")],
        ["README.md", await readFile(join(root, "hack/package/README.md"), "utf8")],
        ["THIRD-PARTY-LICENSES", await licencesOf(root, libraries)],
      ]),
    )
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
  await chmod(join(folder, "dist/cli.js"), 0o755)
  const archive = `${own.name}-${identity.version}.tgz`
  await writeFile(join(output, `.${archive}`), await archiveOf(folder))
  await rename(join(output, `.${archive}`), join(output, archive))
  return archive
}

/** The archive that `npm pack` would make of a folder, with the same bytes on every machine. */
async function archiveOf(folder: string): Promise<Uint8Array> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = found.filter((one) => one.isFile()).map((one) => relative(folder, join(one.parentPath, one.name)))
  const entries: TarEntry[] = []
  for (const path of paths.sort())
    entries.push({
      type: "file",
      path: `package/${path}`,
      data: await readFile(join(folder, path)),
      mode: path === "dist/cli.js" ? 0o755 : 0o644,
    })
  return gzipSync(writeTar(entries), { level: 9 })
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, "../..")
  const output = join(root, "dist/npm")
  const { values } = parseArgs({ options: { "write-api": { type: "boolean", default: false } } })
  const env = (name: string) => process.env[name] ?? ""
  const archive = await makePackage(root, output, {
    version: env("K3TS_VERSION"),
    commit: env("K3TS_GIT_COMMIT"),
    treeState: env("K3TS_GIT_TREE_STATE"),
    date: env("K3TS_BUILD_DATE"),
  })
  if (values["write-api"]) await copyFile(join(output, basename(API_FILE)), join(root, API_FILE))
  console.log(`dist/npm/${archive}`)
}

import { chmod, copyFile, mkdir, readdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { SCRIPTS } from "../../cmd/k3ts/commands/completion.ts"
import { run } from "../../pkg/process/run.ts"
import { manualPages } from "../reference/man.ts"
import { LICENSES } from "./licenses.ts"
import type { Maker, Release } from "./release.ts"
import { ARCHITECTURES, type Architecture } from "./architectures.ts"

/** The name of the archive, without its suffix, and of the one folder in it. */
const archiveName = ({ version }: Pick<Release, "version">, architecture: Architecture): string =>
  `k3ts-${version}-linux-${architecture}`

/** Packs what a user of the executable alone would miss around it: licences, examples, manual pages, completions. */
export const makeArchives: Maker = async (release) => {
  for (const architecture of ARCHITECTURES) await makeArchive(release, architecture)
  return ARCHITECTURES.map((architecture) => `${archiveName(release, architecture)}.tar.gz`)
}

async function makeArchive(release: Release, architecture: Architecture): Promise<void> {
  const { root, scratch, output, executables, version, epoch } = release
  const name = archiveName(release, architecture)
  const folder = join(scratch, "archives", name)
  const copy = async (from: string, to: string) => {
    await mkdir(dirname(join(folder, to)), { recursive: true })
    await copyFile(from, join(folder, to))
  }
  const write = async (to: string, text: string) => {
    await mkdir(dirname(join(folder, to)), { recursive: true })
    await writeFile(join(folder, to), text)
  }
  await copy(executables[architecture], "k3ts")
  await chmod(join(folder, "k3ts"), 0o755)
  for (const file of ["LICENSE", "README.md", "CHANGELOG.md"]) await copy(join(root, file), file)
  await copy(join(output, LICENSES), LICENSES)
  // At the path that the README names.
  for (const file of await readdir(join(root, "manifests/examples")))
    if (file.endsWith(".yaml")) await copy(join(root, "manifests/examples", file), `manifests/examples/${file}`)
  for (const page of await manualPages({ version, epoch })) await write(`man/man1/${page.name}`, page.text)
  await write("completions/k3ts.bash", SCRIPTS["bash"]!)
  await write("completions/_k3ts", SCRIPTS["zsh"]!)
  await write("completions/k3ts.fish", SCRIPTS["fish"]!)
  const tar = join(scratch, `${name}.tar`)
  await run("tar", [
    "--create",
    `--file=${tar}`,
    `--directory=${join(scratch, "archives")}`,
    "--format=ustar",
    "--sort=name",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mode=u=rwX,go=rX",
    `--mtime=@${epoch}`,
    name,
  ])
  await run("sh", ["-c", 'gzip --no-name --stdout "$1" >"$2"', "sh", tar, join(output, `${name}.tar.gz`)])
}

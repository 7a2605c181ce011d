import { chmod, copyFile, lutimes, mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { gzipSync } from "node:zlib"
import { SCRIPTS } from "../../../cmd/k3ts/commands/completion.ts"
import { manualPages } from "../../reference/man.ts"
import { LICENSES } from "../licenses.ts"
import type { Release } from "../release.ts"
import { changelog, copyright } from "./control.ts"

/** A file of the package. `path` begins at the root of the machine, without a slash. */
export interface PackagedFile {
  readonly path: string
  readonly mode: 0o644 | 0o755
  readonly content: string | Uint8Array | { readonly copyOf: string }
}

const DOC = "usr/share/doc/k3ts"

/** Returns every file of the package but the control files. The licences must be in the output folder. */
export async function packagedFiles(release: Release, executable: string): Promise<readonly PackagedFile[]> {
  const { root, output, version, epoch } = release
  const own = (name: string) => readFile(join(import.meta.dirname, name), "utf8")
  const examples = (await readdir(join(root, "manifests/examples"))).filter((name) => name.endsWith(".yaml")).sort()
  return [
    { path: "usr/bin/k3ts", mode: 0o755, content: { copyOf: executable } },
    text("usr/lib/systemd/system/k3ts.service", await own("k3ts.service")),
    text("etc/k3ts/config.yaml", await own("config.yaml")),
    text("usr/share/bash-completion/completions/k3ts", SCRIPTS["bash"]!),
    text("usr/share/zsh/vendor-completions/_k3ts", SCRIPTS["zsh"]!),
    text("usr/share/fish/vendor_completions.d/k3ts.fish", SCRIPTS["fish"]!),
    ...(await manualPages({ version, epoch })).map((page) => zipped(`usr/share/man/man1/${page.name}.gz`, page.text)),
    text(`${DOC}/copyright`, copyright(release)),
    zipped(`${DOC}/${LICENSES}.gz`, await readFile(join(output, LICENSES), "utf8")),
    zipped(`${DOC}/changelog.gz`, await readFile(join(root, "CHANGELOG.md"), "utf8")),
    zipped(`${DOC}/changelog.Debian.gz`, changelog(release)),
    ...(await Promise.all(
      examples.map(async (name) =>
        text(`${DOC}/examples/${name}`, await readFile(join(root, "manifests/examples", name), "utf8")),
      ),
    )),
    text("usr/share/lintian/overrides/k3ts", await own("lintian-overrides")),
  ]
}

const text = (path: string, content: string): PackagedFile => ({ path, mode: 0o644, content })

/** As `gzip -9n`: without a name and without a time. */
const zipped = (path: string, content: string): PackagedFile => ({
  path,
  mode: 0o644,
  content: gzipSync(content, { level: 9 }),
})

/** Writes files below a folder, whatever the umask, with the time `epoch` in seconds since 1970. */
export async function layOut(folder: string, files: readonly PackagedFile[], epoch: number): Promise<void> {
  for (const { path, mode, content } of files) {
    const target = join(folder, path)
    await mkdir(dirname(target), { recursive: true })
    if (typeof content === "object" && "copyOf" in content) await copyFile(content.copyOf, target)
    else await writeFile(target, content)
    await chmod(target, mode)
  }
  // From the leaves up: a file that is made changes the time of its folder.
  for (const entry of [...(await readdir(folder, { recursive: true, withFileTypes: true }))].reverse()) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isDirectory()) await chmod(path, 0o755)
    await lutimes(path, epoch, epoch)
  }
  await chmod(folder, 0o755)
  await lutimes(folder, epoch, epoch)
}

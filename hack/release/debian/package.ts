import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { run } from "../../../pkg/process/run.ts"
import type { Release } from "../release.ts"
import { ARCHITECTURES, type Architecture } from "../architectures.ts"
import { control, packageFile } from "./control.ts"
import { layOut, packagedFiles, type PackagedFile } from "./files.ts"

const SCRIPTS = ["postinst", "prerm", "postrm"] as const

/** Makes a package of Debian for each processor. Needs dpkg-deb. */
export async function makeDebianPackages(release: Release): Promise<readonly string[]> {
  await Promise.all(ARCHITECTURES.map((architecture) => makePackage(release, architecture)))
  return ARCHITECTURES.map((architecture) => packageFile(release, architecture))
}

async function makePackage(release: Release, architecture: Architecture): Promise<void> {
  const { scratch, output, epoch, executables } = release
  const folder = join(scratch, `deb-${architecture}`)
  const files = await packagedFiles(release, executables[architecture])
  const own = await controlFiles(release, architecture, files)
  await layOut(folder, [...files, ...own.map((file) => ({ ...file, path: `DEBIAN/${file.path}` }))], epoch)
  // One thread: how many there are changes where xz ends its blocks. Level 1 takes a tenth of the time of the default
  // level, 6, for a file that is a tenth larger.
  await run("env", [
    `SOURCE_DATE_EPOCH=${epoch}`,
    ...["dpkg-deb", "--root-owner-group", "-Zxz", "-z1", "--threads-max=1"],
    ...["--build", folder, join(output, packageFile(release, architecture))],
  ])
}

async function controlFiles(
  release: Release,
  architecture: Architecture,
  files: readonly PackagedFile[],
): Promise<readonly PackagedFile[]> {
  const sums: string[] = []
  let size = 0
  for (const { path, content } of files) {
    const bytes = typeof content === "object" && "copyOf" in content ? await readFile(content.copyOf) : content
    // dpkg compares what is installed with them, and knows no other digest.
    sums.push(`${createHash("md5").update(bytes).digest("hex")}  ${path}\n`)
    size += Math.ceil(Buffer.byteLength(bytes) / 1024)
  }
  const text = (path: string, content: string): PackagedFile => ({ path, mode: 0o644, content })
  return [
    text("control", control(release, { architecture, installedSize: size })),
    text("md5sums", sums.join("")),
    text("conffiles", files.flatMap(({ path }) => (path.startsWith("etc/") ? [`/${path}\n`] : [])).join("")),
    ...(await Promise.all(
      SCRIPTS.map(async (name) => ({
        path: name,
        mode: 0o755 as const,
        content: await readFile(join(import.meta.dirname, name)),
      })),
    )),
  ]
}

import { readFileSync } from "node:fs"
import { copyFile, mkdir, writeFile } from "node:fs/promises"
import { arch } from "node:process"
import { join } from "node:path"
import { run } from "../../pkg/process/run.ts"
import { compressed, exampleArchive, hostBusybox, type Busybox } from "../images/images.ts"
import { metafile } from "./bundle.ts"
import type { DebianArchive } from "./debian-archive.ts"
import { BUSYBOX } from "./pinned.ts"
import type { Maker } from "./release.ts"
import { ARCHITECTURES, type Architecture } from "./architectures.ts"
import { fetchRuntime } from "./runtimes.ts"

const TARGETS: Readonly<Record<Architecture, string>> = { amd64: "bun-linux-x64", arm64: "bun-linux-arm64" }

/** The name of the executable in a release: every file that is for one processor ends with Go's name of it. */
export const executableName = (architecture: Architecture): string => `k3ts-linux-${architecture}`

/** Compiles an executable for each processor, on this one. */
export const makeExecutables: Maker = async ({ root, scratch, executables }, { debian }) => {
  const busyboxes = await fetchBusyboxes(debian, join(scratch, "busybox"))
  for (const architecture of ARCHITECTURES) {
    const folder = join(scratch, architecture)
    await mkdir(folder, { recursive: true })
    const runtime = await fetchRuntime(root, folder, architecture)
    // The name under which the program looks for it.
    const images = join(folder, "k3ts-examples.tar.zst")
    await writeFile(images, compressed(exampleArchive(busyboxes[architecture])))
    // Under the name that it is installed as: Bun writes it into the file.
    const compiled = join(folder, "k3ts")
    await run(join(root, "hack/compile.sh"), [
      compiled,
      `--target=${TARGETS[architecture]}`,
      `--compile-executable-path=${runtime}`,
      `--asset=${images}`,
      `--metafile=${metafile(scratch)}`,
    ])
    await copyFile(compiled, executables[architecture])
  }
  return ARCHITECTURES.map(executableName)
}

/** Both are built of one source, so that the one that runs here knows the commands of the other. */
async function fetchBusyboxes(debian: DebianArchive, folder: string): Promise<Readonly<Record<Architecture, Busybox>>> {
  const path = (architecture: Architecture) => join(folder, architecture, "bin/busybox")
  for (const architecture of ARCHITECTURES) await debian.unpack(BUSYBOX, architecture, join(folder, architecture))
  const { commands } = hostBusybox(path(arch === "arm64" ? "arm64" : "amd64"))
  const busybox = (architecture: Architecture): Busybox => ({
    program: readFileSync(path(architecture)),
    commands,
    architecture,
  })
  return { amd64: busybox("amd64"), arm64: busybox("arm64") }
}

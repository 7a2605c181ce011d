import { copyFile, mkdir } from "node:fs/promises"
import { join } from "node:path"
import { run } from "../../pkg/process/run.ts"
import { ARCHITECTURES, type Architecture, type Maker } from "./release.ts"
import { fetchRuntime } from "./runtimes.ts"

const TARGETS: Readonly<Record<Architecture, string>> = { amd64: "bun-linux-x64", arm64: "bun-linux-arm64" }

/** The name of the executable in a release: every file that is for one processor ends with Go's name of it. */
export const executableName = (architecture: Architecture): string => `k3ts-linux-${architecture}`

/** Compiles an executable for each processor, on this one. */
export const makeExecutables: Maker = async ({ root, scratch, executables }) => {
  for (const architecture of ARCHITECTURES) {
    const folder = join(scratch, architecture)
    await mkdir(folder, { recursive: true })
    const runtime = await fetchRuntime(root, folder, architecture)
    // Under the name that it is installed as: Bun writes it into the file.
    const compiled = join(folder, "k3ts")
    await run(join(root, "hack/compile.sh"), [
      compiled,
      `--target=${TARGETS[architecture]}`,
      `--compile-executable-path=${runtime}`,
    ])
    await copyFile(compiled, executables[architecture])
  }
  return ARCHITECTURES.map(executableName)
}

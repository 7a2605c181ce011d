import { buildImageArchive } from "../../../pkg/oci/archive.ts"
import { pauseExecutable, type PauseArchitecture } from "./pause-elf.ts"

/** The image of every sandbox, unless `--pause-image` names another. The tag changes when the program does. */
export const PAUSE_IMAGE = "k3ts.local/pause:1"

/** The pause image as an archive for `importImages`. */
export function pauseImageArchive(architecture: PauseArchitecture): Uint8Array {
  return buildImageArchive({
    name: PAUSE_IMAGE,
    architecture,
    layers: [{ files: [{ type: "file", path: "pause", mode: 0o755, data: pauseExecutable(architecture) }] }],
    // Upstream's pause runs as 65535:65535 too (build/pause/Dockerfile).
    config: { Entrypoint: ["/pause"], User: "65535:65535" },
  })
}

/** This machine's, or undefined where we have no pause program: then an image must be given. */
export function pauseArchitecture(arch: string = process.arch): PauseArchitecture | undefined {
  return arch === "x64" ? "amd64" : arch === "arm64" ? "arm64" : undefined
}

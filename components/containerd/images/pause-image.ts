import { buildImageArchive } from "../../../pkg/oci/archive.ts"
import type { Architecture } from "../elf.ts"
import { pauseExecutable } from "./pause-elf.ts"

/** The image of all sandboxes, unless `--pause-image` names another. Its tag changes when the program changes. */
export const PAUSE_IMAGE = "k3ts.local/pause:1"

/** Returns the pause image as an archive for `importImages`. */
export function pauseImageArchive(architecture: Architecture): Uint8Array {
  return buildImageArchive({
    name: PAUSE_IMAGE,
    architecture,
    layers: [{ files: [{ type: "file", path: "pause", mode: 0o755, data: pauseExecutable(architecture) }] }],
    // Upstream's pause runs as 65535:65535 too (build/pause/Dockerfile).
    config: { Entrypoint: ["/pause"], User: "65535:65535" },
  })
}
